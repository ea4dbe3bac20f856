"""A task of the suite."""
