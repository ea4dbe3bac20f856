"""The five devices of the world: their profiles, grants, slots and speeds, and the tools that each has of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starloom_protocol.vocabulary import Profile

LOOPBACK: Final = "127.0.0.1"
PREFIX: Final = "mcp"
NET_REACH: Final = "net:reach"


@dataclass(frozen=True)
class NebulaDevice:
    """`areas` are the parts of the world program that it offers; `speed` divides the times of their calls,
    `commands` are those that `shell.run` may call, as `starloom-agent grant` takes them."""

    name: str
    profile: Profile
    areas: tuple[str, ...]
    speed: float = 1.0
    slots: int = 4
    commands: tuple[tuple[str, ...], ...] = ()

    @property
    def grants(self) -> frozenset[str]:
        """The grants that it has beside those of its profile. All may reach the sites of the world alone."""
        return frozenset({NET_REACH, *(f"{PREFIX}:{area}" for area in self.areas)})


GIT_WORDS: Final = (("git", "tag", "{[a-z0-9.]+}"), ("git", "commit", "-am", "{.+}"))
"""The commands of the desk; they have patterns, so the device asks before each."""
SERVERS: Final = ("srv-a", "srv-b")
DEVICES: Final = (
    NebulaDevice("desk", Profile.OPERATE, ("mail", "cal", "notes", "pkg"), commands=GIT_WORDS),
    NebulaDevice("srv-a", Profile.OPERATE, ("svc", "pkg", "metrics")),
    NebulaDevice("srv-b", Profile.OPERATE, ("svc", "pkg", "metrics"), speed=0.5),
    NebulaDevice("gpu", Profile.WORK, ("metrics",), speed=4.0),
    NebulaDevice("phone", Profile.FILES, ("msg", "loc", "cam"), speed=0.25, slots=1),
)
NAMES: Final = tuple(device.name for device in DEVICES)

PURE: Final = (("read",), "pure")
WRITES: Final = (("write",), "never")
CHANGES: Final = (("change",), "never")
REACHES: Final = (("reach",), "never")
DECLARED: Final[dict[str, dict[str, tuple[tuple[str, ...], str]]]] = {
    "mail": {"list": PURE, "read": PURE, "send": REACHES},
    "cal": {"list": PURE, "move": WRITES, "add": WRITES},
    "notes": {"list": PURE, "add": WRITES},
    "svc": {"list": PURE, "status": PURE, "restart": CHANGES, "stop": CHANGES},
    "pkg": {"list": PURE, "upgrade": CHANGES},
    "metrics": {"read": PURE},
    "msg": {"send": REACHES},
    "loc": {"read": PURE},
    "cam": {"shot": WRITES},
}
"""The effects and the repeatability of each tool, as the owner of a device declares them, by area."""


def changes_something(tool: str) -> bool:
    """Return whether a call such as `mail.send` is one that a check counts: it does more than look."""
    area, _, name = tool.partition(".")
    return DECLARED[area][name] != PURE


def mcp_file(device: NebulaDevice, command: tuple[str, ...], world: str) -> str:
    """Return the text of `mcp.toml` for a device whose world lies in a folder."""
    lines: list[str] = []
    for area in device.areas:
        words = ", ".join(_quoted(word) for word in (*command, area, world))
        lines += [f"[servers.{area}]", f"command = [{words}]", ""]
        for tool, (effects, repeatability) in DECLARED[area].items():
            listed = ", ".join(_quoted(effect) for effect in effects)
            lines += [f"[servers.{area}.tools.{tool}]", f"effects = [{listed}]"]
            lines += [f"repeatability = {_quoted(repeatability)}", ""]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Return a TOML basic string; paths and words of this module have nothing else to escape."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
