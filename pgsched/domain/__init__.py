"""The concepts of pgsched as pure values: no clock, no SQL, no I/O."""
