"""Claiming, from the table to memory: when to claim, from which partitions, and how much."""
