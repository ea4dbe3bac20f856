"""Tasks of category A: logs and metrics."""
