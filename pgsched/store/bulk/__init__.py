"""Bulk operations: what a filter names is counted, changed at a rate, shown and stopped."""
