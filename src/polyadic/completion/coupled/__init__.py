"""Several tables with common rows or columns, factorized together."""
