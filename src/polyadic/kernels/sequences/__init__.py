"""Doors to the loops of chains and automata."""
