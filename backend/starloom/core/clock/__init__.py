"""Work and expiry by time.

cron        the moments of a cron expression in a time zone
schedules   firings, notices, and the inputs of people about schedules
moments     the times before which a task does not begin
timers      every due moment that state implies
leaving_out optional parts that give way to the deadline
expiry      links, sessions, codes and keys that have expired
eviction    finished constellations leave the live copy
retention   finished constellations leave the durable history
"""
