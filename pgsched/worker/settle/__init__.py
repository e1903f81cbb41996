"""Settling, from the outcome back to the table."""
