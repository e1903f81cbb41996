"""Channels, which deliver executions to their targets and report the outcome."""
