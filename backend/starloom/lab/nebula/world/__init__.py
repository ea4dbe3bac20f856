"""The world of the suite: its devices, their files, sites and own tools, and what a check sees of it.

`nebula_world` installs and resets all of it, `seen` is the end state. It knows no task.
"""
