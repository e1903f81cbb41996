"""The dashboard: HTML pages rendered by the server, with the same permissions as the routes under ``/v1``."""
