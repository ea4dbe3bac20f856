"""The only owner of state: one loop, one inbox, one sequence of commits.

Rooms and modules, each of which imports only those below it; `lint-imports` checks the order:

succession   this hub owns the shard, or follows and takes over when its owner is gone
following    the log of another owner, published here
loop         takes inputs, steps, commits, then acts
redeciding   commits of the log decided again from their inputs
retention    finished constellations leave memory and come back, old ones leave the durable history
commits      a commit through outages, and the record of its inputs
orders       frames and wake-ups, secrets in a dispatch, acknowledgements of reports
inputs       the inbox, inputs of other processes, ends of leases, timers
ownership    the lease of the shard, and the proof of it
ports        the interfaces that the engine needs and offers
settings     the engine's settings
"""
