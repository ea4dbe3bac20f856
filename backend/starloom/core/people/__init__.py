"""Requests and decisions of people.

requests           a constellation from request to first version
inquiries          questions and looks of a planner before there is a plan
answer_words       a model's answer in words, before the end
approvals          the parts of a plan that need a person's approval, and its answer
escalations        a reviewer's edit that goes beyond the approved plan, and giving up
controls           pause, resume, cancel, retry, skip, mark, hold and release
stop_all           every live constellation ends
forks              a new constellation from a moment of another
compensation       finished work is undone by the calls that it declares
restored_history   work in doubt and ended rights after a backup was restored
recipes            recipes that people save here, proposals of them, and their runs
access             principals, tokens, sign-in links
"""
