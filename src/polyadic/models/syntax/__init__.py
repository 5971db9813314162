"""Syntax: grammars that propose trees of phrases or of words, the best and the k best, and what tells them apart."""
