"""The Nebula suite: cross-device tasks on five sandboxed devices of one machine, whose end states can be checked.

`world` is the devices with their files, sites and own tools; `tasks` holds a folder for each task, `task` reads them.
`planners` says a task's plan, `faults` breaks what is under way, `person` answers, `running` carries one task out,
`scoring` judges it; `suite` does so for many, and `reports` writes what came of it. docs/nebula.md tells how the suite
is used and how a task is added.
"""
