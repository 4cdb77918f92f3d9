"""The competitions' own numbers."""
