"""Runs the rows stored with the model; exits with 1 if any fails."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
