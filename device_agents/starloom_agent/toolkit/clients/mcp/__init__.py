"""The client's side of MCP: one conversation, its two carriers, and the messages of a session that is kept.

carriers      the carrier for a server
conversation  requests, notices and answers of one session, from any thread
program       a server that is a program, by lines on its standard input and output
web           a server that is reached by streamable HTTP
reading       resources and prompts: their lists and texts, bounded
keeping       the messages between an agent, a keeper and the process of a call

The agent keeps sessions (`work.sessions`). Nothing here decides what is allowed.
"""
