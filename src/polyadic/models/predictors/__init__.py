"""Predictors: numbers, truth values and rankings from features, by few parameters."""
