"""What is a metric worth? Truths, alterations, properties, and the tables they make."""
