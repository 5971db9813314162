"""Topics of documents: non-negative factors of documents and words."""
