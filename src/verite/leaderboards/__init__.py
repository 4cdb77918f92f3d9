"""Leaderboards of detectors with uncertainty: image bootstrap, simulated annotation errors, influential annotations."""
