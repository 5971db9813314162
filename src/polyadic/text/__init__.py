"""From text to weighted counts: readers, tokenizer, vocabulary, corpus, n-way counts and association measures."""
