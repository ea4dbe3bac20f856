"""What differs between operating systems: clocks that run during sleep, start times of processes, parent death.

`processes` is the only module that others import; it answers None or does nothing where a system has no such thing
and says so through `missing_layers`.
"""
