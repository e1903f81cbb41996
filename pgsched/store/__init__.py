"""All SQL is in this package."""
