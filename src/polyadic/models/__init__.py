"""Models, one estimator family per file."""
