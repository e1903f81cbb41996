"""Recurring jobs: planning and editing them."""
