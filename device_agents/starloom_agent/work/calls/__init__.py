"""The calls of a running agent, seen from the agent: judgement, runner, streams, questions, end, and their trash.

Owns each call until it has ended once. Must not decide about leases, and reads no data of a tool.
"""
