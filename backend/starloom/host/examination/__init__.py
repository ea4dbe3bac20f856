"""Examinations of this machine, its hub and its models. They change nothing."""
