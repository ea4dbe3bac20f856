"""The transport of calls to a model: the dial, the two wire formats, their streams, and recorded calls.

The optional libraries are loaded here alone. It judges no answer.
"""
