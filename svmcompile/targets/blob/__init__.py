"""A model as data: NAME.bin, which one fixed runner reads in C, Java and Rust."""
