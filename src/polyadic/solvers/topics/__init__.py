"""Solvers of topics: non-negative factors, mixtures, regularized latent semantic indexing."""
