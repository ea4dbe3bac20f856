"""Results that others use: those of earlier runs, and findings within a constellation.

keys           the hash of everything that a result depends on
kept_results   results are kept when their tasks succeed, and taken over by equal tasks of the same person
findings       parts of results are published under topics, taken by inputs, and looked at again when they are too old
"""
