"""Forecasts: the pure core plays what should happen, on the fleet's paces and in virtual time. Starts nothing.

known   what past calls tell of the next ones: how they spread, and how sure each pace is
times   the times of one play: what a pace leads to expect, off by chance
plans   a plan before it starts, on the fleet of now and on a changed one
course  one play of a running constellation, on a copy of its state
budgets a plan or a run: the chance to stay inside the budgets of the model
runs    a running constellation: its expected end, its deadline, and the same after a change
"""
