"""Connections, transactions and errors, which all subjects share."""
