"""Recipes of people: saving, proposals from what worked, and the runs by which they are trusted.

proposals   a plan that ended clean is proposed to its author, once
runs        the kept versions; clean and failed runs of one; the trial, and the way back to an earlier version
saving      recipes that people save here, by version
shapes      the constants of a plan that may become parameters, and its hash with these left open
tracing     the constants that a look found or its person answered, and why a plan cannot be made again
"""
