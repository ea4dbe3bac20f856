"""The pure core: `step(shard, input)` decides, `apply` changes state, nothing here awaits or reads a clock.

Inputs come in by `step`, events, effects and the answer go out. The rooms stand on each other; each imports only
rooms below it, which `lint-imports` holds:

step        dispatches an input to its handler, settles what it moved, places tasks last
answer      the outcome of a constellation, its sentence, and why a task waits
clock       schedules, timers, expiry, retention
people      requests, approvals, questions, controls, forks, access, saved recipes
plan        installation, structure edits, groups, rules, review, drafts
fleet       devices: joining, connecting, draining, their owners' questions
run         attempts: leases, reports, recovery, timeouts, hedges, checks, verification
rights      what an author may do: effects, consent, scope of edits, budgets, secrets
placement   which device takes a ready task, and why another does not
state       entities, indexes, inputs, effects and the batch that changes them
"""
