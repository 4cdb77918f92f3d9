"""One page to look at and to send: a document of plain values, and the HTML that shows it."""
