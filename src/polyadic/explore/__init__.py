"""Web page for exploring a text: endpoints on a workspace, a local server, and an export as one file."""
