"""The planners of the suite and all that changes a plan.

Owns scripted models and their server, a person's own model, wrong plans, baselines and ablations. They run nothing.
"""
