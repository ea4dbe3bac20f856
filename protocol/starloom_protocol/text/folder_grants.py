"""The way out where a device does not allow a folder: whether a line ready to be pasted is offered for it, and which.

A program of somebody else may choose the path that is refused, and the refusal is shown to a person. A folder of the
system, or a hidden one, therefore gets no line. The device and the preview of the hub both decide by this.

A device whose policy file was edited by hand takes no grant before its owner has accepted the file; it says so in its
facts, and that line stands in place of the grant's.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

SYSTEM_FOLDERS: Final = tuple(
    PurePath(name) for name in ("/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/usr")
)
NO_LINE: Final = "This is a hidden or system folder, so no command is offered; its owner can grant it by hand."

ACCEPT_LINE: Final = "starloom-agent policy accept"
POLICY_FACT: Final = "policy"
POLICY_NOT_IN_FORCE: Final = "the file was edited and is not in force; on the device: starloom-agent policy accept"


def has_line(path: PurePath) -> bool:
    """Tell whether a line that grants a folder may be shown for pasting."""
    hidden = any(part.startswith(".") for part in path.parts)
    of_the_system = any(path == root or root in path.parents for root in SYSTEM_FOLDERS)
    return not (hidden or of_the_system or path == PurePath("/"))


def plain_grant_line(grant: str, os: str) -> str:
    """Return the line for a grant without a task that needs it; a command is left for the owner to name, too."""
    if grant == "shell:run":
        return "starloom-agent grant shell:run -- COMMAND"
    if grant.startswith("files:"):
        return f"starloom-agent grant {grant} {'%USERPROFILE%' if os == 'windows' else '~'}/FOLDER"
    return f"starloom-agent grant {grant}" + (" HOST" if grant == "net:reach" else "")
