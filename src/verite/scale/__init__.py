"""More than one process, more than one machine, more than fits: evaluations in parts."""
