"""How sure is a ranking when the ground truth has errors?"""
