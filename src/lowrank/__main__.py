"""``python -m lowrank``: the command line."""

from lowrank.cli import main

if __name__ == "__main__":
    main()
