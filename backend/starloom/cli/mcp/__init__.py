"""`starloom mcp`: the hub as tools of a Model Context Protocol server, for an assistant that one already uses.

tools      what the tools do: the REST API, as any other client has it; knows nothing of MCP
server     the tools as MCP has them (needs the extra `starloom[mcp]`)
http       the same over HTTP, on this machine only, with a token
command    `starloom mcp`
"""
