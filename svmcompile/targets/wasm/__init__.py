"""The WebAssembly target: what a module is built from, and the page around it."""
