"""The tools of the hub, the results of the built-in tools, and the profiles that bound a device's tools.

Calls no tool.
"""
