"""Access: who a caller is, and what it may do. Reads the log; the core alone changes it.

guard         the table of routes and frames with their permitted callers
callers       the principal behind a token, session or ticket, and the read model that finds it
credentials   tokens, sessions, sign-in links and join codes: made, read, compared
issue         the records of access
rate_limits   limits on failures by address, and on the refusals that reach the log
refusals      the latest refusals at the doors for devices
vault         values of secrets, sealed
authority     the hub's own certificate authority for the local network
"""
