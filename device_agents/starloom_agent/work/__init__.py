"""The work of a running agent: leases, ledger, calls and their processes.

Owns each attempt from its dispatch to its durable report. Must not change the policy or speak at a terminal.
"""
