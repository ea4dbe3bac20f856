"""Rungs of the recovery ladder that stand alone: another call that is as good, and the question to a person."""
