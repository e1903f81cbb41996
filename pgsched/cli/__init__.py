"""The command line: one entry point, ``pgsched``, with a module for each command."""
