"""One module per paper: its tables as cells, beside the published figures."""
