"""Paces: how long the calls of a tool take on a device, and when a task should be done there. Places nothing.

index      the records of paces, and the expected times made from them by tool, size class and device
learning   the events by which ends of attempts become paces
finish     when a task should be done on a device that is free, and on one that is not yet; waits that are over
slow       devices that are slow beside their peers
"""
