"""Prometheus metrics. Worker processes count their own work. The API counts its requests and measures the database."""
