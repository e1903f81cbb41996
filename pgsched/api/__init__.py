"""The REST API, built on Litestar."""
