"""Recurring jobs: planning, editing and backfilling them."""
