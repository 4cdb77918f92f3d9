"""Reproductions of two comparative studies of localization metrics, table by table.

Hemery, Laurent, Emile, Rosenberger, Journal of Electronic Imaging 2010 (`jei`); Hemery, Laurent, Rosenberger, GRETSI
2009 (`gretsi`). Only `verite study --reproduce` imports this package; :mod:`verite.studies` studies your own metrics.
"""
