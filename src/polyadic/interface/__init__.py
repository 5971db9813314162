"""Command line, JSON and HTTP forms of the tasks, derived from their annotated functions."""
