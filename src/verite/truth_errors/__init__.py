"""In what ways may a truth be wrong?"""
