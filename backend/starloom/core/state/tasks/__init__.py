"""Pure functions on a constellation's tasks: gates, order, names, supersession."""
