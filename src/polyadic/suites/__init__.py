"""Named protocols: data, split, models, metrics, in one command."""
