"""Scenarios on an installation of their own: one run with its faults in their time, its follower, and its verdict."""
