"""The commands of the device's owner, and the files in which the owner names agents and servers.

Owns the words at the terminal and the reading of those files. Must not carry out a call of the hub.
"""
