"""The light agent of a device: it carries out tool calls under its owner's policy and loses no report to the hub.

core      the agent's own pure step: leases held, what to start and stop, what to answer
runtime   the connection, the timers and the processes: the only place that does I/O for the core
ledger    the data that survives a crash: attempts, the outbox of reports, decisions
runner    the small parent of each tool process: group, limits, fence, cancel
policy    profiles, grants and command rules of this device's owner
tools     the tools of a device, one file per tool or small family; `registry` finds them, `toolkit` has their parts
cli       `starloom-agent`
"""

__version__ = "0.1.0"
