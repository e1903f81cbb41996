"""The dashboard: HTML pages rendered by the server.

Pages use the same functions of the store as the routes under ``/v1``, with the same keys and permissions.
"""
