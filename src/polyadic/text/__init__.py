"""From text to counts and weights: readers, tokenizer, vocabulary, corpus, n-way counts, association measures."""
