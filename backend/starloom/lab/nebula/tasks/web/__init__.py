"""Tasks of category F: the web and information."""
