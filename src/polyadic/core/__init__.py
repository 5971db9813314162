"""What all families share."""
