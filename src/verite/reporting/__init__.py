"""Reporting: plots, objects drawn on images, and the HTML report; only this package imports matplotlib."""
