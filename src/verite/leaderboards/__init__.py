"""How sure is an order by average precision? Draws of truths and of images, places, and the records that decide."""
