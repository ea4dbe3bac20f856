"""Tools for the screen and the person at it. Must not type or show anything without a call."""
