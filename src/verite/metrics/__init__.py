"""The metrics verite knows."""
