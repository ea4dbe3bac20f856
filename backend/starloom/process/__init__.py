"""A process of Starloom: its settings and what it takes from the system: clock, open files, memory, sockets, parent.

The lowest room: it knows no other one of the hub or the command line.
"""
