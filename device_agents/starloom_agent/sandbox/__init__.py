"""The bounds of a tool process: L1 limits for every one, an L2 cage for programs that come with a request.

limits       resource limits of a tool process (L1)
usage        memory and writes of a group of processes; quota finds exceeded limits of a cage
levels       the layer that holds here, found by a trial at the agent's start; escapes is the program of the trial
cage         the record of one cage; confine makes it from `layers`
"""
