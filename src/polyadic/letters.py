"""Marks that belong to the words or numbers around them, for whatever says what a word is."""

INNER = "\u00b7\u0387\u055b-\u055f\u05f3\u05f4\u2027"
"""Marks within words: the dot of Catalan, those of Armenian and Hebrew (annex 29's MidLetter, less the colon)."""
POINTS = ".,\u066b\u066c"
"""Marks within numbers."""
