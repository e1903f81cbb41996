"""Recurring jobs: planned, carried on, edited, backfilled."""
