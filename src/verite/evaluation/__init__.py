"""One evaluation: what is brought together, who meets whom, what comes out."""
