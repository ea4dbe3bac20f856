"""The outcome of a constellation and its answer.

outcome   the end of a constellation, and its answer
story     the answer's sentence
why       one sentence for a task that waits, with the way out
"""
