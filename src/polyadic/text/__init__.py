"""Text processing: readers, tokenizer, vocabulary, corpus, n-way co-occurrence counts and association measures."""
