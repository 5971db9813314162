"""Predictors beside one another: factorization machines, labels of texts, tasks that share their features."""
