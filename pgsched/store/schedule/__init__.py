"""Taking in what is to be done, and when."""
