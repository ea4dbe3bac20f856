"""The rights of the author of a plan, an edit or a control. Never asks a person: `people` does.

call_effects   the effects and places of a call with everything that its task adds to it
first_folders  the folder of a device that a call means by `.`
consent        the approval given for a schedule, and what goes beyond it
edit_scope     the check that a plan after an edit, and a successor in it, stays within the one before it
envelope       what one call of a goal may do, must be asked about, or may not do; `envelope_words` says it to people
strangers      the results that rest on what a stranger may have written
authorship     the limits of an author who sets approval aside, widens a plan or names a secret
reserved       reserved devices in what a model wrote
budgets        the attempts and the money that a constellation may use
spending       what the model cost for the same goal or constellation before
restored_rights  the rights of a backup that its restore does not bring back
secrets        names, versions and receivers of secrets, never values
"""
