"""`python -m svmcompile` is the command `svmcompile`."""

from svmcompile.cli import main

main()
