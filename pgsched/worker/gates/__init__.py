"""What holds rows back on their way: limits, ordering keys, circuits, missing capabilities."""
