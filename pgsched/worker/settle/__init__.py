"""From the outcome back to the table."""
