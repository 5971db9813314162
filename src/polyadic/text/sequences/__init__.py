"""Strings of symbols."""
