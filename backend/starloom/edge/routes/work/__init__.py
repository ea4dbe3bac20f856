"""Routes over constellations that exist.

constellations   list, snapshot, answer, versions
controls         edits and controls of a plan and its tasks
events           the log and the output of attempts
forks            forks, undone work, the authors of a plan
why              the reasons that tasks do not move
waits            for whom and until when a constellation waits, in a sentence
run_forecasts    the expected end of a run, and what if
report           what the time of a run was spent on
transcript       the calls of a model for a constellation
artifacts        the bytes of results, for devices and people
"""
