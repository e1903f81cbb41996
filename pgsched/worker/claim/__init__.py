"""Claiming, from the table to memory: when to claim, from where, and how much."""
