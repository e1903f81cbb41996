"""Bulk operations, which change the executions that a filter selects, at a rate. They can be listed and stopped."""
