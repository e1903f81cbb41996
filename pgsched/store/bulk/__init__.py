"""Bulk operations: executions that a filter selects are counted, changed at a rate, listed and stopped."""
