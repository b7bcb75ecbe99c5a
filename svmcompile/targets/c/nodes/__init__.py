"""What the C macros need to know of each family of nodes; files are named like those of templates."""
