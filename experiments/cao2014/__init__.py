"""Cao & Khudanpur (2014), online learning in tensor space: reranking lists of parses."""
