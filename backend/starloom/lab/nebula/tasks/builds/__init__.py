"""Tasks of category D: builds, tests and deployments."""
