"""What happens at a time.

cron        the moments of a cron expression in a time zone
schedules   firings, notices, and what people do to schedules
timers      every due moment that state implies
expiry      links, sessions, codes and keys whose time is over
eviction    finished constellations leave the live copy
retention   which finished constellations may leave the durable history
"""
