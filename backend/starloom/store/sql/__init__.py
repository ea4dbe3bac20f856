"""The durable history in SQLite or PostgreSQL: tables, whole commits in order, reads, pruning, dumps.

Owns everything that is said in SQL. Must not know Redis: commits arrive from the port.
"""
