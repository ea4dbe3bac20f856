"""The client's side of the Agent Client Protocol: other people's agents, started and watched by a call on this device.

wire        lines of JSON-RPC with the program of an agent, each bounded
record      its updates as lines of the call's output, and the transcript
files       its reads and writes in one granted folder, and the files that changed there
terminals   the programs that it asks for, as the command rules of this device allow
permissions its questions, which the policy of this device decides
session     one prompt from the greeting to the end of the turn
launch      the start of its program, confined to its folders; confined is the first thing in that process

Only `session` and `launch` are for tools. Nothing here decides what is allowed: the agent of this device does.
"""
