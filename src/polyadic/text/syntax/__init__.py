"""Treebanks: trees of dependencies and of constituents, propositions, and features of their words."""
