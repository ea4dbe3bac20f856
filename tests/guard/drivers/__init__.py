"""Attackers that go on for a given time, each against real processes; `python -m tests.guard.report` runs them.

A driver takes a folder, a `Stopwatch` and a seed and returns an `AttackTally`. It judges by effects (what ran, what
changed, what became known) and by the log: each kind of refusal stands there with who and why.
"""
