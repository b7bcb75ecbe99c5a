"""device: generated C built for small processors and run in emulators, all from PyPI.

The text of NAME.c and NAME.h goes in, with rows to run; flash, memory, stack and
instructions per prediction come out, with the labels and values the device computed.
Needs the extra `device` (ziglang, unicorn, capstone, pyelftools, wasmtime).
"""
