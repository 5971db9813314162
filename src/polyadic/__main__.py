"""Run the command line with ``python -m polyadic``."""

from polyadic.cli import main

if __name__ == "__main__":
    main()
