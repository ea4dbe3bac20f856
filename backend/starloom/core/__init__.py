"""The pure core: `step(shard, input)` decides, `apply` changes state, nothing here awaits or reads a clock.

Inputs come in through `step`; events, orders and the answer go out. The rooms form layers; each imports only rooms
below it, which `lint-imports` checks:

step        dispatches an input to its handler, settles the tasks it touched, places tasks last
answer      the outcome of a constellation, its sentence, and why a task waits
clock       schedules, timers, expiry, retention
people      requests, approvals, questions, controls, forks, access, saved recipes
plan        start, structure edits, groups, rules, review, drafts
fleet       devices: joining, connecting, draining, their owners' questions
run         attempts: leases, reports, recovery, timeouts, hedges, checks, verification
rights      the limits of an author: effects, consent, scope of edits, budgets, secrets
placement   the choice of a device for a ready task, and the reasons against others
state       entities, indexes, inputs, orders and the batch that changes them
"""
