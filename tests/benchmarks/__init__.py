"""Benchmarks for pgsched's developers: `python -m tests.benchmarks.NAME` (docs/reference/benchmarks.md)."""
