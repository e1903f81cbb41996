"""Bulk operations, which change the executions or jobs that a filter selects, at a given rate."""
