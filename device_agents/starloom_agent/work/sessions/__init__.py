"""The sessions with MCP servers that an agent keeps for a constellation.

Owns the keeper of each session and its end. Must not read the answers of a server, and decides about no permission.
"""
