"""The state of a shard and the batch that changes it. Knows no rule about devices, plans or people.

model         the shard: fleet, access and constellations as maps of entities, with derived indexes
apply         the only code that changes the model: put a record, keep the indexes, undo
inputs        what reaches the hub            effects      what the edge is ordered to do
work          one batch: its events, effects and answers, and how to take an input back
transitions   the table of (state, trigger) pairs of a task
tasks         pure questions about tasks: gates, order, names, supersession
queues        queues of ready tasks, and whose turn a free slot is
tool_sets     the tools that many devices offer alike, held once
idempotency   what was asked once under a key is done once
stalls        a live constellation in which nothing can move
invariants    I1 to I13 over a whole shard, and over what a step touched
"""
