"""Tasks of category H: administration and audits."""
