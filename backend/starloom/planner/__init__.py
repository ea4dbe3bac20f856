"""Words and recipes become plans: pure matching and planning, and the preview of what would run where.

fleet       what the planner knows of the devices       catalogue   the recipes there are
phrases     phrases with typed slots                    slots       what a slot takes from words
matching    words -> exact, near or none                planning    a recipe and values -> a lowered plan
preview     a lowered plan -> who would do what, with what effects, and what is missing
service     the four for the edge and the jobs: one object with the fleet as it is now
"""
