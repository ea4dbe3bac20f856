"""The way to the hub: address, connection, joining, signed requests, artifacts.

Owns the bytes that leave the device and the proofs of both ends. Must not decide about work, policy or tools.
"""
