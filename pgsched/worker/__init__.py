"""What one process does for the rows it holds: wake, claim, dispatch, renew, settle."""
