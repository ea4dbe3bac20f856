"""Tasks of category C: data pipelines."""
