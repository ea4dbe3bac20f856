"""Recipes of people: saving, proposals from what worked, and the runs by which they are trusted.

proposals   a plan that ended clean is proposed to its author, once; its constants that may become parameters
runs        the kept versions; clean and failed runs of a version; the trial, and the way back to an earlier version
saving      recipes that people save here, by version
"""
