"""Low-rank models of syntax: parsing, roles and tagging, each beside its baselines."""
