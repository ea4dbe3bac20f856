"""The state of a shard and the batch that changes it. Knows no rule about devices, plans or people.

model         the shard: fleet, access and constellations as maps of entities, with derived indexes; tools held once
settings      the limits and durations that decisions need
apply         the only code that changes the model: put a record, keep the indexes, undo
inputs        requests, reports, timers       orders       requests to the edge
work          one batch: its events, orders and answers, the undoing of an input, the case of an attempt
transitions   the table of (state, trigger) pairs of a task
tasks         pure functions on tasks: gates, order, roles
queues        queues of ready tasks, and the fair sharing of free slots
task_needs    which device may be given the secrets of a task, and which was approved for it
idempotency   a request repeated under its key is carried out once
invariants    the invariants of a shard, by number, checked over all of it or over what a step touched; stalls
"""
