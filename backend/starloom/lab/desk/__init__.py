"""The lab as the hub sees it: reports of faults and runs of scenarios, behind the routes of the lab.

It breaks nothing itself, and nothing else of the lab is loaded by a hub.
"""
