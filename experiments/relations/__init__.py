"""Relations between entities: universal schemas, rules, and knowledge bases."""
