"""Connections, transactions and errors: what all statements stand on."""
