"""Command-line, JSON and HTTP interfaces of the tasks, derived from annotated functions."""
