"""Loops of factorization machines and rerankers."""
