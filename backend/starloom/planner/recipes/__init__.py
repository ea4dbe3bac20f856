"""Recipes: the built-in and the saved ones, the plan that one makes of values, their gallery and their page.

Pure but for the reading of the built-in files. It interprets no words of a person.
"""
