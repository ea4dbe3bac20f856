"""`starloom mcp`: the hub as tools of a Model Context Protocol server, for an existing assistant.

tools      the work of the tools: calls of the REST API, as by any other client; knows nothing of MCP
server     the tools in MCP's form (needs the extra `starloom[mcp]`)
http       the same over HTTP, on this machine only, with a token
command    `starloom mcp`
"""
