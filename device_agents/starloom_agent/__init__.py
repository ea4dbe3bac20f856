"""The light agent of a device: it carries out tool calls under its owner's policy and forgets nothing it owes.

core      the agent's own pure step: leases held, what to start and stop, what to answer
runtime   the connection, the timers and the processes: the only place that does I/O for the core
ledger    what must survive a crash: attempts, the outbox of reports, decisions
runner    the small parent of each tool process: group, limits, fence, cancel
policy    profiles, grants and command rules of this device's owner
tools     what a device can do, one file per tool or small family
cli       `starloom-agent`
"""

__version__ = "0.1.0"
