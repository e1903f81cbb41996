"""The services that keep the database in order: planning, reaping, days of history. There is no leader. Every worker
runs all of them; a turn skips rows that another worker holds, and is harmless when it is run twice."""
