"""The light agent of a device: it carries out tool calls under its owner's policy and loses no report to the hub.

cli        `starloom-agent`, which `__main__` starts as well
owner      the owner's commands, and the files in which the owner names agents and servers
install    the installed program: environments, service, background, upgrade
work       the running agent: its core, its ledger, calls and their processes
policy     rules, approvals and offer of this device's owner
wire       the way to the hub: address, connection, joining, artifacts
tools      the tools of a device by subject, one file per tool or small family; `work.registry` finds them
toolkit    the parts of tools, and the clients of ACP, A2A and MCP
sandbox    the bounds of a tool process
home       the agent's folder: layout, key, lock, status file
platforms  the differences between operating systems
"""

__version__ = "0.1.0"
