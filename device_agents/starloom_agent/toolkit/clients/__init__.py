"""The client's side of ACP, A2A and MCP, and the HTTP that two of them use: conversations with programs of others.

Owns the form and the bounds of each conversation. Must not decide what is allowed: the policy of this device does.
"""
