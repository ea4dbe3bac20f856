"""The planner: pure matching of words with recipes, planning, and the preview of a plan. It runs nothing.

fleet       the devices as the planner sees them        catalogue   the built-in recipes
phrases     phrases with typed slots                    slots       the values that a slot takes from words
matching    words -> exact, near or none                planning    a recipe and values -> a lowered plan
preview     a lowered plan -> devices, effects, and missing grants of each task
service     the four for the edge and the jobs: one object with the current fleet
"""
