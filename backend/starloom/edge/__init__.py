"""The edge of the hub: HTTP and sockets in, inputs of the core out. Decides nothing about tasks.

Rooms, each of which imports only rooms below it; `lint-imports` checks the order:

app         one application: every route guarded, the sockets beside it
routes      the resources of the REST API, the page and the browser agent
hub         the finished objects that routes work with
first_run   the first owner, and this machine's own token
agents      the socket of devices       peers   the other hubs of the shard
live        the socket of pages, and read models fed by events
listeners   open ports and Unix sockets, and the server behind them
web         admission, problems and replies: one request, whatever it asks for
access      persons, tokens, sessions and the guard table: who may do what
"""
