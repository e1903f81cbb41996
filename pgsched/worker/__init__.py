"""The work of one worker process on its rows: wake, claim, dispatch, renew, settle."""
