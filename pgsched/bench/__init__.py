"""Repeatable benchmarks. Each prints one JSON object, and checks by id that no execution was lost."""
