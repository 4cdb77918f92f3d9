"""What is evaluated: objects in images, one column per fact, and the scores that come out."""
