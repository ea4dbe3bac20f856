"""The home of an agent on its device: folder, key, lock and status file.

Owns their layout and modes. Must not talk to a hub or start anything.
"""
