"""The dashboard: pages for people, drawn by the server.

They ask the store what the routes under ``/v1`` ask it, for the clients of the same keys, and do what these do.
"""
