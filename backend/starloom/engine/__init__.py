"""The only owner of state: one loop, one inbox, one sequence of commits.

loop     take inputs, step, commit, then act          inbox    bounded; requests are refused first, reports never
pump     effects to frames and wake-ups               leases   when leases run out; renewed by `alive`, never events
acks     what devices may forget                        remote   inputs that other processes post
timers   the heap of due moments                      ports    what the engine needs from others and gives them
retiring finished constellations leave and come back    jobs     those that nobody works on
retention what is old leaves the durable history, in pieces
"""
