"""Exact probabilities that a ranking of algorithms survives annotation errors (`vt.rank`)."""
