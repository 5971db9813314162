"""Infrastructure shared by all model families."""
