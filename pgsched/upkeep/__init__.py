"""What someone must do once for all: plan, reap, keep the days of history. Without a leader: every turn skips what
another holds at the moment, and is harmless when run twice."""
