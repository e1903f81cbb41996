"""Plans and edits recurring jobs."""
