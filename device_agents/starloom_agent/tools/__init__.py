"""The tools of a device, one file per tool or small family; each such module ends with `TOOLS: tuple[Tool, ...]`.

Nothing is imported here on purpose: a tool process imports `interface` and the one module that it runs, so that
it starts quickly. `registry` names the modules and is what the agent and the documents read.
"""
