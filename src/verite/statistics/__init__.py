"""How sure are numbers that were drawn? Intervals, standings and places that cannot be excluded."""
