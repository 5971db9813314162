"""Collective factorization of several tables with shared rows or columns."""
