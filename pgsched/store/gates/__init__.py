"""Limits, ordering keys, circuits and full queues, which hold executions back."""
