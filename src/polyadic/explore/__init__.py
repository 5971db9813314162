"""Web interface for exploring a text: HTTP endpoints, a local server, and export to a single HTML file."""
