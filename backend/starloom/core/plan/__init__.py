"""The plan of a constellation and its versions.

install        a lowered plan becomes version 1
edits          structure edits: one atomic batch from version n to n+1
groups         families: expansion, and what a group needs of its children
relisting      a family whose list is made again expands again
rules          edits that a recipe makes when something happens
review         the hold while a reviewer looks at a task's end
drafts         the tasks that a person is editing
flows          what an edit of a running plan lets flow where
inverse        the edit that takes back a version
verify_tasks   the tasks that look at work which may have happened
"""
