"""Solvers of sentences: convolutional decomposition, sparse codes."""
