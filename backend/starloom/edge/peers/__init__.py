"""The other hubs of the shard. Only `hub` and `app` of the edge, and the assembly of the program, may call it.

neighbours   the owner of the shard and its address, the position in its log, and messages beside the log
relay        requests and sockets that the owner has to carry out
"""
