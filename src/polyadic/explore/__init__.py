"""A page in a browser on what a text gives: questions to a workspace, a server on this machine, and the page itself."""
