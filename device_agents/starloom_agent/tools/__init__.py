"""The tools of a device in rooms by subject, one file per tool or small family.

Each such module ends with `TOOLS: tuple[Tool, ...]`. A file here is a tool: it holds schema, effects, probe, grants,
result type and functions. Nothing is imported on purpose: a tool process imports `toolkit.interface` and the one module
that it runs, so that it starts quickly. `work.registry` finds the modules.
"""
