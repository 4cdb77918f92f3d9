"""The self-contained HTML report: a typed document of results, and the sections that draw it."""
