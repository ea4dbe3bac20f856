"""The sample of `make run`: its words, files and figures, and the check that its promises hold.

The command line draws its screen.
"""
