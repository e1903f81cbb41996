"""Scheduling: one execution, many of them, and recurring jobs."""
