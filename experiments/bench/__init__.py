"""Benchmarks: each module is a script, run as ``python -m experiments.bench.NAME``."""
