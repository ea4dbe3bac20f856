"""The Nebula suite: cross-device tasks on five sandboxed devices of one machine, whose end states can be checked.

`devices` names the fleet, `world_program` is the program behind its own tools, `base` lays the files out, `sites`
serves them, `world` installs and resets it all. `tasks` holds a folder for each task, `task` reads them. `seen` and
`score` judge an end state, `person` and `running` carry one task out, `measuring` takes figures from its log, `suite`,
`report` and `report_page` do so for many. `faults` draws what breaks, `striking` and `changes` do it, `doubts` is the
person afterwards, `honesty` judges such an end, `baselines` rewrite a plan. docs/nebula.md tells how it is used and
how a task is added.
"""
