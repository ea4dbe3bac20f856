"""Tasks of category J: incidents."""
