"""Tables of counts and of categories: correspondence analysis, its kernels, and the Gini index it maximises."""
