"""What the API is made of: a model opened once, its program, the files of it, and folders of files."""
