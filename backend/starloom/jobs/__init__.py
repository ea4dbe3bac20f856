"""The jobs of the log, carried out by a Celery worker: plans, reviews, steps of goals, answers, verdicts.

Reads committed state and posts inputs; owns no state.

worker       the process of the worker, which has a task of Celery for each kind of job
broker       the Celery application, and the engine's sender of wake-ups
kinds        planning, reviewing, pursuing, answering, judging
running      one claimed job on connections of its own
claiming     the claim of a job, renewed while it runs
modelling    the owner's model as a job uses it: counted before a call, recorded after it
sketching    the picture of a reply while a model writes it
artifacts    the hub's artifacts as a worker reads and keeps them
"""
