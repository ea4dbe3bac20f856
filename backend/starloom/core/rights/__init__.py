"""What the author of a plan, an edit or a control may do. Asks nobody: `people` puts the questions.

call_effects   the effects and places of a call with everything its task adds to it
consent        what was approved for a schedule, and what goes beyond it
edit_scope     whether a plan after an edit stays within the one before it
authorship     what an author may set aside, widen or name
budgets        what a constellation may use of attempts and money
secrets        names, versions and receivers of secrets; no value is ever here
"""
