"""The plan of a constellation and its versions.

starting       a lowered plan becomes version 1, and a constellation becomes active
edits          structure edits: one atomic batch from version n to n+1
batches        the plan as a batch of operations leaves it: its faults, values, successors, the batch that undoes one
goals          groups that grow by the steps of a model
groups         families: expansion, and the children that a group needs
relisting      a family whose list is made again expands again
progress_rules the end of running tasks whose reports a plan calls hopeless
rules          edits that a recipe makes on events
review         the hold while a reviewer considers a task's end
drafts         the tasks that a person is editing
reuse          results of earlier runs that a later task takes over, and findings by topic
verify_tasks   the tasks that check whether work in doubt has happened
"""
