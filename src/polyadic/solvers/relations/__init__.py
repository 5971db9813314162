"""Solvers of facts: questions to all entities, triples, RESCAL."""
