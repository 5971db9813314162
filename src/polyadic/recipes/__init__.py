"""What the verbs of the command line do, callable: from files to what is learned of them, defaults in one place."""
