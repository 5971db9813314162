"""Niitsuma and Lee (2018): correspondence analysis and its kernels as word vectors, Table 3."""
