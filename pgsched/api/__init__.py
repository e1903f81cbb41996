"""The REST API, by Litestar."""
