"""Pure functions on a constellation's tasks: gates, order, names, supersession, causes of failures."""
