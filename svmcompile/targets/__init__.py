"""emit: a program becomes files, as {file name: content}. Nothing touches the disk here."""
