"""The preview of a plan: its devices, effects, missing grants, secrets and warnings.

Pure. It starts nothing and steps no core: `forecast` tells the expected time.
"""
