"""Commits of the engine: made through outages, with the record of their inputs.

Must not decide an input.
"""
