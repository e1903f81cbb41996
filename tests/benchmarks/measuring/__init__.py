"""Shared measuring tools of the benchmarks."""
