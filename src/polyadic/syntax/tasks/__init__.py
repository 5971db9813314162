"""Commands for treebanks: ``polyadic tag``, ``polyadic roles`` and ``polyadic parse``."""
