"""Facts, universal schemas, rules, and patterns between names."""
