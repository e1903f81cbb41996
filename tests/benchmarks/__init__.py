"""Benchmarks for whoever works on pgsched: `python -m tests.benchmarks.NAME` (docs/reference/benchmarks.md)."""
