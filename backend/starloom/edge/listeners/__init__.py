"""Listening: the ports and Unix sockets of a hub, their bounds, and the server. `starloom.app` opens them.

serving            the server and its settings for every listener
connections        how many connections there may be, and how long each may take
websocket_server   the server's end of a websocket
own_sockets        the Unix sockets of this computer's own user
local_network      the second listener, for devices of the same network
"""
