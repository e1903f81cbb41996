"""Diagnoses an installation and says how to fix it, in small, independent checks that each have a time limit."""
