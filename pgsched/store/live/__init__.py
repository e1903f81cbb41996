"""Live rows: claimed, renewed, settled, released, taken back."""
