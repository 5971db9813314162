"""Models of sequences: tags of words."""
