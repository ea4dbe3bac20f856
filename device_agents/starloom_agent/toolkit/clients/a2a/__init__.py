"""The client's side of A2A 1.0: agents of others that are reached over the network, for one call of a tool.

card      the card of an agent, and the one address that may be used
messages  its events as the tool reads them
session   one piece of work from the first message to the end of the task

Nothing here decides what is allowed: the agent of this device does.
"""
