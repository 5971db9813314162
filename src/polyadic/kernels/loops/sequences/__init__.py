"""Loops of chains and automata."""
