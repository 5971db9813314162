"""Solvers of tables that share entities: by coordinates, by drawing, by variational bounds."""
