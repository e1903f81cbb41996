"""Repeatable measurements: each prints one JSON object, and checks by id that nothing was lost."""
