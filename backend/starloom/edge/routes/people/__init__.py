"""Routes of people: their sessions, their decisions, the record of both, and their secrets.

sessions    signing in, links, tokens, tickets
approvals   questions to people and standing approvals
persons     who may use this hub, with which role
activity    the record, the audit chain, replays of decisions
secrets     names and setting of secrets; no value is returned
"""
