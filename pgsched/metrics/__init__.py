"""Prometheus metrics: worker processes count their own work; the API counts its requests and measures the database."""
