"""The types of values in a plan: what tools take and give, and how values flow. Knows no task as it is written."""
