"""The kinds of jobs, one module for each: planning, reviewing, pursuing, answering, judging.

Each reads committed state and posts inputs. It knows no broker and no thread.
"""
