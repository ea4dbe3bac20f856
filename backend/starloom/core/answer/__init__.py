"""The outcome of a constellation and its answer.

goal_story      the sentences about a goal
open_questions  who asks a person, and the values that answer
report          the figures of a run
spans           the phases of its time
outcome         the end of a constellation, and its answer
story           the answer's sentence
stated          the plan's own sentence for its answer
undone_files    the files that undos moved
brought_files   the files that earlier tasks brought from devices, for a retry
trends          what has changed over the last runs of a recipe or a schedule
why             one sentence for a task that waits, with the way out
"""
