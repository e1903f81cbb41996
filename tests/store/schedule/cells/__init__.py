"""The cells of the tables in docs/reference/schedules.md: each is a story that is told to a real database."""
