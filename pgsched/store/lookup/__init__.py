"""Looks up executions and jobs, and the state of the installation."""
