"""Sessions with MCP servers: the conversation, its two carriers, and the process that keeps a session between calls.

conversation  requests, notices and answers of one session, from any thread
program       a server that is a program, by lines on its standard input and output
web           a server that is reached by streamable HTTP
keeping       the messages between an agent, a keeper and the process of a call
keeper        the process that keeps one session
kept          the kept sessions of an agent: which there are, for which constellation, and their end
"""
