"""What files hold: a reader for each format, from an open file to documents."""
