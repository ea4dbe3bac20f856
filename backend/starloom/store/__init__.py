"""The store: the shard in Redis, the durable history in SQL behind it, and artifacts on disk. Decides nothing.

Rooms and modules, each of which imports only those below it; `lint-imports` checks the order:

opening          the store of a process: of a hub, or of a worker that only reads and posts inputs
redis            the shard in Redis: commits, the inbox, reads, the log for other hubs
sql              the durable history: tables, whole commits in order, pruning, dumps
faults           errors as a full disk, a corrupt history, or no answer
port             the ports that the engine and the other processes use
chain            the audit chain over commits
blobs            artifacts and logs of attempts as files
file_names       names of files below a data folder
"""
