"""Relations between typed entities: tables that share their rows and columns."""
