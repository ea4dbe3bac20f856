"""The scripted person of a task.

Owns what they have under way before, what they answer, and what they decide about work in doubt.
"""
