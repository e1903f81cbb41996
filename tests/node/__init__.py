"""JavaScript packages that callers and receivers use, run by the tests' own Node.js."""
