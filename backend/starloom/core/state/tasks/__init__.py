"""Pure functions on a constellation's tasks: gates, findings, order, roles."""
