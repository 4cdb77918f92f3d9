"""The self-contained HTML report: a JSON document of results, and the HTML that renders it."""
