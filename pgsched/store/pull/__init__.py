"""Queues that consumers pull from."""
