"""The judgement of one run.

Owns the score of its end state, its honesty under faults, the figures of its log, and whether its check notices
damage. Reads and decides; runs nothing.
"""
