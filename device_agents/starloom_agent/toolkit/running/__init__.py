"""Programs that a tool starts: found, confined, ended, with a screen or as an MCP server."""
