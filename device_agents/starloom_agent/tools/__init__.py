"""The tools of a device, one file per tool or small family; each such module ends with `TOOLS: tuple[Tool, ...]`.

A file here is a tool: it holds schema, effects, probe, grants, result type and functions. Nothing is imported on
purpose: a tool process imports `toolkit.interface` and the one module that it runs, so that it starts quickly.
`registry` finds the modules.
"""
