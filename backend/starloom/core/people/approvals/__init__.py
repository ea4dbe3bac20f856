"""Approvals: the calls of a plan that need one, the question, its answer, and the allowances that last.

need           the calls that ask, the devices that an answer allows, the hash of a preview
standing       calls that a person allows for good and takes back
question_text  the question about a plan in words
questions      when a question is asked again, void or over, and the effect of its answer
"""
