"""Diagnoses an installation and says what to do: small, independent checks, each bounded."""
