"""What bounds a tool process here: L1 limits for every one, an L2 cage for programs that come with a request.

limits       resource limits of a tool process (L1)
levels       which layer holds here, found by a trial at the agent's start
cage         the record of one cage; confine makes it, from namespaces, bubblewrap, or landlock with seccomp
"""
