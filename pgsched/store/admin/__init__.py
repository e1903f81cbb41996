"""Clients, queues, workers, days of history, migrations."""
