"""Connections, transactions and errors, shared by all other packages of the store."""
