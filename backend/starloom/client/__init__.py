"""The hub as programs of this machine reach it: its address, its REST API, a constellation folded from events.

Prints nothing; `terminal` has the styles, tables and lines of programs that do.
"""
