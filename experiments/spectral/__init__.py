"""Spectral learning by the method of moments, on planted models and on text."""
