"""The context of a model: the texts about fleet, tools, recipes and results, and the brief for a person's assistant.

Pure and bounded, but for `earlier`, which reads the log of requests. It calls no model and judges no plan.
"""
