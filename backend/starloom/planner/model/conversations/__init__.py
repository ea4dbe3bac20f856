"""The conversations with a model, one module for each: planning, reviewing, pursuing, answering, judging.

Pure but for the model. It dials nothing, runs nothing and posts nothing.
"""
