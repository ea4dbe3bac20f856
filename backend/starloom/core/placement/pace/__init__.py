"""Paces: how long the calls of a tool take on a device, and when a task should be done there. Places nothing.

table      the records of paces: logarithms, a sample more, the bound on their number
index      expected times by tool, size class and device, made from the records
learning   the events by which ends of attempts become paces
finish     when a task should be done on a device that is free, and on one that is not yet; waits that are over
slow       devices that are slow beside their peers
"""
