"""The matrix methods of the tutorial of Bouchard and others (2015), on real tables."""
