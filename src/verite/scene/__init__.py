"""One number for a whole scene: localization, recognition and detection of every object in an image together.

Hemery, Laurent, Emile, Rosenberger, Évaluation d'un résultat d'interprétation d'images: 0 is perfect, 1 is worst.
"""
