"""Work and expiry by time.

cron        the moments of a cron expression in a time zone
calendars   the days of the events of a calendar file
days_off    days on which a schedule does not fire
schedules   firings, and the inputs of people about schedules
notices     the notices of a schedule: of which ends and waits, in which words
alarms      alarms of a schedule, raised and ended by its firings
moments     the times before which a task does not begin
timers      every due moment that state implies
leaving_out optional parts that give way to the deadline
expiry      links, sessions, codes and keys that have expired
retirement  finished constellations leave the live copy
retention   finished constellations leave the durable history
"""
