"""What people ask for and decide.

requests           a constellation from request to first version
clarifications     questions of a planner before it can plan
approvals          what of a plan asks a person, and what the answer does
escalations        a reviewer's edit that goes beyond what was approved
controls           pause, resume, cancel, retry, skip, mark, hold and release
stop_all           every live constellation ends
forks              a new constellation from a moment of another
compensation       finished work is taken back by the calls it declares
restored_history   work in doubt after a backup was put back
saved_recipes      recipes that people save here, by version
access             principals, tokens, sign-in links
refusals           who was refused at a door
"""
