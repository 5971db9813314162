"""Lines of features, lists of candidates."""
