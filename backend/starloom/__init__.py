"""The hub of Starloom with its command line and its lab.

`app` makes the hub as a process: it builds `edge`, `engine` and `store` and opens the sockets last. `core` decides,
`planner` and `jobs` make plans of words, `host` keeps the processes of one machine running, `cli` and `client` speak
the REST API, `lab` breaks and examines the product, and `process` has what a process takes from the system.
"""
