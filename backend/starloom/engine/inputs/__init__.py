"""Inputs on their way to the loop: the inbox, those of other processes, ends of leases, and timers.

Must not step or commit one.
"""
