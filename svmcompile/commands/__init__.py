"""What each command does: options in, plain figures out. `cli` parses and prints."""
