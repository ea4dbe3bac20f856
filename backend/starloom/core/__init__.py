"""The pure core: `step(shard, input)` decides, `apply` changes state, nothing here awaits or reads a clock.

model        the shard: fleet, access and constellations as maps of entities, and their derived indexes
apply        the only code that changes state: put a record, keep the indexes, undo
inputs       what reached the hub            effects   what the edge is ordered to do
step         one input to its events, effects and answer: the agenda and its bound
tables       every (state, trigger) pair of a task: a handler, an ignore with its reason, or never
gates        when a dependency is open, shut or undecided
graph        order, cycles, ranks, what is downstream
installing   a lowered plan becomes version 1
edits        structure edits: one atomic batch from version n to n+1
forking      a new constellation from a moment of another
compensating what finished work declares to undo it, in reverse order
verifying    what a look at work that may have happened decides    looking    when it is begun
inverse      the edit that takes back a version
drafting     what a person is editing is left alone by others
groups       families: expansion, what a group needs of its children
relisting    a family whose list is made anew expands again
rules        edits that a recipe makes by itself
controls     pause, resume, cancel, retry, skip, mark, hold and release; rounds
asking       facts asked of a device after the end
attempts     leases, reports, absence, cancel receipts
recovery     what becomes of an attempt that did not succeed: the ladder
remembered   attempts that a device has begun and an older log does not have
stalls       a live constellation in which nothing can go on
placement    which device takes a ready task, and why
conduct      what a task may do to the world: its tool's effects, narrowed by its arguments, and all that it adds
within       whether an edit stays within what the plan did before
authorship   what the author of a plan, an edit, a control or a recipe may set aside, widen or name
waiting      ready tasks that nobody can take, and when a person should know
requests     constellations from request to first version; jobs and questions
schedules    work on a clock: due moments, firings, notices    scheduling   what people do to schedules
library      recipes that people save here, by version
moments      when a clock strikes    consent   what was approved for a schedule, and what goes beyond it
fleet        devices, offers, enrollments       access   principals, tokens, sign-in links
auditing     who was refused at the doors
budgets      what a constellation may use
left_out     the devices that a group over devices did not ask, and why
superseding  which task counts for one that was superseded
outcome      when a constellation is over, and its answer     story   the answer's sentence
timeouts     what open attempts may take: start to close, over all attempts, unheard
timers       due moments computed from state    why       one sentence for whatever does not move
retention    which finished constellations may leave the durable history
invariants   I1-I13 over a whole shard, and over what a step touched
"""
