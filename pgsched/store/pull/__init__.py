"""Queues from which consumers pull."""
