"""Running, from memory to the target: starts each row at its instant, and delivers it."""
