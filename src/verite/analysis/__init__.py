"""Why a number is what it is, and whether another one is worse."""
