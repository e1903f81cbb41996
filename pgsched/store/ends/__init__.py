"""What follows when an execution has ended: dependents, dead letters."""
