"""Attempts from lease to end: what is given, heard, repeated, moved and checked. Changes no plan.

attempts           leases, starts, results, receipts
recovery           the recovery ladder: what becomes of an attempt without success
last_resort        a person is asked before a task fails for good
timeouts           how long an attempt and a round may take
absence            silent devices by their policy, back-off, the fence of a cancel
fences             the name of a lease, its fence and its timers
hedge_opening      when a second attempt is worth it       hedging   two attempts of one task
checks             the plan's checks on a result
verification       what a look at work that may have happened decides
unknown_attempts   attempts that a device has begun and the log does not have
late_facts         facts that a later edit needs of a finished result
"""
