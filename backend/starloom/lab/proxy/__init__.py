"""The fault proxy: one link between an agent and its hub that can be cut, delayed and mangled.

Owns bytes on their way; it must not know what they mean beyond heads and frames.
"""
