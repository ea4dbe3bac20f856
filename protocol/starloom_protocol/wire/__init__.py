"""The connection between an agent and the hub: frames, bytes, versions, seals and the sans-I/O session.

Owns no socket and no private key.
"""
