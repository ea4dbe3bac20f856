"""Pure questions about a constellation's tasks: gates, order, names, supersession."""
