"""What bounds a tool process here: L1 limits for every one, an L2 cage for programs that come with a request.

limits       resource limits of a tool process (L1)
usage        what a group of processes uses and has written; quota says when a cage's limits are passed
levels       which layer holds here, found by a trial at the agent's start; escapes is the program of the trial
cage         the record of one cage; confine makes it, from namespaces, bubblewrap or landlock, each with seccomp
"""
