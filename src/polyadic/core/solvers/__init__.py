"""Solvers: generators that improve factors sweep by sweep, and ``run``, the loop that draws from them."""
