"""`starloom mcp`: the hub as tools of a Model Context Protocol server, for an existing assistant.

arguments  the schemas of the tools, and the check of a call against them
recipes    recipes as tools and prompts: names, schemas, words
tools      the work of the tools: calls of the REST API, as by any other client; knows nothing of MCP
own_tools  the words and arguments of those tools
resources  the caller's constellations, their answers and files
following  the changes that programs hear of, and what they follow
server     all of it in MCP's form (needs the extra `starloom[mcp]`)
http       the same over HTTP, on this machine only, with a token
command    `starloom mcp`
"""
