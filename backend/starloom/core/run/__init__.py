"""Attempts from lease to end: leases, reports, retries, moves and checks. Changes no plan.

attempts           leases with their fences and timers, starts, results, receipts
recovery           the recovery ladder: another attempt, another call, the question to a person, failure
timeouts           the limits of an attempt's and a round's time
absence            silent devices by their policy, back-off, the fence of a cancel
hedge_opening      the start of a second attempt           hedging   two attempts of one task
judgement          the plan's question to a judge about a result
verification       the decision after a verify task about work in doubt
unknown_attempts   attempts that a device has begun and the log does not have
late_facts         facts that a later edit needs of a finished result
"""
