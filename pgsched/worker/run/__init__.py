"""Running, from memory to the target: each row starts at its instant and is delivered."""
