"""Measures, plain functions of truth and prediction."""
