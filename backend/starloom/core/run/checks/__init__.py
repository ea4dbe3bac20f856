"""Checks on a result: what must hold for a task to succeed.

conditions   the plan's conditions and the facts that a result must bring, by code
judgement    the plan's question to a judge, asked when the conditions hold
"""
