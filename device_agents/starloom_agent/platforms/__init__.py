"""Differences between operating systems, one subject a module. Owns no decision about work.

processes        clocks that run during sleep, identity and groups of processes, death with a parent
batteries        the charge of the machine's own battery
presence         whether the owner is at the screen
desktop_session  the variables by which programs find the desktop of this user
carrying         files and folders on their way to another file system
exchange         two names of one file system exchanged in one step

Where a system lacks a feature, a function returns None or False, or raises OSError as it says.
"""
