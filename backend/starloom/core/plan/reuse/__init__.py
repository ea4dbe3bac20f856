"""Results of earlier runs that a later task takes over.

keys           the hash of everything that a result depends on
kept_results   results are kept when their tasks succeed, and taken over by equal tasks of the same person
"""
