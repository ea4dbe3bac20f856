"""Requests in words: their match with the phrases of recipes, and the refusal of words that fit none.

Pure. It starts nothing and asks no model.
"""
