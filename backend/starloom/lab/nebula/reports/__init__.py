"""The report of a run of the suite, as text, JSON and page, with the cost of each condition.

It computes from runs and starts none.
"""
