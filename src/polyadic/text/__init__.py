"""From text to counts and weights: readers, tokens, vocabulary, encoded corpus, n-way counts, association measures."""
