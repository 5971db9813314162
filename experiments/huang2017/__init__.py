"""Huang and Anandkumar (2017): filters of word sequences, sentence vectors, and their tests."""
