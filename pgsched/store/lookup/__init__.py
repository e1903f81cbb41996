"""Looking up executions, jobs and how the whole stands."""
