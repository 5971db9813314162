"""``python -m polyadic``: the command line."""

from polyadic.cli import main

if __name__ == "__main__":
    main()
