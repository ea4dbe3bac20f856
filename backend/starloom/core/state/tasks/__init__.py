"""Pure functions on a constellation's tasks: gates, findings, order, names, supersession, causes of failures."""
