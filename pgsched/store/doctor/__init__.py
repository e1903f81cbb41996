"""What is wrong with an installation, and what to do about it: small checks, each bounded and by itself."""
