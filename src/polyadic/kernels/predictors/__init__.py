"""Doors to the loops of factorization machines and rerankers."""
