"""What follows the end of an execution: dependents, dead letters."""
