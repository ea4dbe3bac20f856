"""Differences between operating systems: clocks that run during sleep, start times of processes, parent death.

`processes` is the only module that others import; where a system lacks a feature it answers None or does nothing, and
reports that through `missing_layers`.
"""
