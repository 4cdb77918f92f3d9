"""The scene score: one number per image for localization, recognition and detection of all of its objects.

Hemery, Laurent, Emile, Rosenberger, Évaluation d'un résultat d'interprétation d'images: 0 is perfect, 1 is worst.
"""
