"""The plan of a constellation and its versions.

install        a lowered plan becomes version 1
edits          structure edits: one atomic batch from version n to n+1
batch          the plan as a batch of operations leaves it, and the faults found
superseding    another task does the work of one that ended without success
groups         families: expansion, and the children that a group needs
relisting      a family whose list is made again expands again
rules          edits that a recipe makes on events
review         the hold while a reviewer considers a task's end
drafts         the tasks that a person is editing
flows          the values that an edit of a running plan passes between tasks
inverse        the edit that undoes a version
verify_tasks   the tasks that check whether work in doubt has happened
"""
