"""The live rows: claimed, renewed, settled, released, taken back."""
