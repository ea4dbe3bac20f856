"""The faults of a run of the suite: the profiles that draw them by seed, and the striker that carries them out.

It knows no task.
"""
