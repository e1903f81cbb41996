"""Administers clients, queues, workers, days of history and migrations."""
