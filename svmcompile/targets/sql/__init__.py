"""SQL: a linear or tree program as one query."""
