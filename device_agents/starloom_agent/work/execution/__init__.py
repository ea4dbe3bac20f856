"""The processes that carry out calls: the zygote, the runner, and the body of a tool's process.

Owns groups, limits and the end of all that a call started. Must not know the hub's leases, the policy or the ledger.
"""
