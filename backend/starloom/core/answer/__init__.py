"""How a constellation ends and what it says.

outcome   when it is over, and its answer
story     the answer's sentence
why       one sentence for a task that does not move, with the way out
"""
