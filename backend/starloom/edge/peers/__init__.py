"""The other hubs of the shard. Only `hub` and `app` of the edge, and the assembly of the program, may call it.

neighbours   the address of the owner, and messages beside the log
ownership    the owner of the shard and the position in its log, as a port
relay        requests and sockets that the owner has to carry out
"""
