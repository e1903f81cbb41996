"""Schedules executions, one or many, and recurring jobs."""
