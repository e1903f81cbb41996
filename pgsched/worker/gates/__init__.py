"""Gates, which hold rows back: limits, ordering keys, circuits, missing capabilities."""
