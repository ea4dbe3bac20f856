"""The shard in Redis: the scripts and the connection of its owner, its inbox, its log for other hubs.

Owns all keys and scripts of a hub. Stands on the durable history, which survives the loss of a Redis.
"""
