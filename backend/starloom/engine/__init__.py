"""The only owner of state: one loop, one inbox, one sequence of commits.

loop     takes inputs, steps, commits, then acts      inbox    bounded; requests are refused first, reports never
pump     effects to frames and wake-ups               leases   when leases run out; renewed by `alive`, never events
acks     acknowledgements of reports to devices       remote   inputs that other processes post
timers   the heap of due moments                      ports    the interfaces that the engine needs and offers
retiring finished constellations leave and come back  jobs     open jobs without a worker
retention old constellations leave the durable history, in pieces
"""
