"""The files and states that every task begins with, the same for the same seed and day.

`ground` is how they are written and makes small pictures; `desk`, `servers` and `others` lay one device each out.
"""
