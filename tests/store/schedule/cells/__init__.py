"""The cells of the tables in docs/reference/schedules.md: each is a story played against a real database."""
