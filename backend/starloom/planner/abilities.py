"""The words for what a device needs to be able to do: *take pictures* for `camera.capture`.

Pure. A tool without words here keeps its name: that is still better than a wrong word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starloom_protocol.text.wording import listed

_WORDS: Final = {
    "archive.zip": "make ZIP files",
    "archive.": "pack and check backups",
    "ask": "put a question to the person at it",
    "artifact.get": "take files",
    "artifact.put": "send files",
    "browser.": "show web pages",
    "camera.": "take pictures",
    "clipboard.": "use its clipboard",
    "disk.": "tell how full its disks are",
    "file.pick": "send files that are picked on it",
    "file.save": "save files that are sent to it",
    "fs.trash": "put files into its trash",
    "fs.write": "write files",
    "fs.copy": "write files",
    "fs.": "look through its files",
    "git.": "read git repositories",
    "image.": "make small pictures",
    "location.": "tell where it is",
    "log.": "search its logs",
    "net.": "reach other hosts",
    "notify": "show notices",
    "package.": "look for updates",
    "python.": "run Python programs",
    "service.restart": "restart services",
    "service.": "look at its services",
    "share.": "hand files to another app",
    "shell.": "run commands",
    "sqlite.": "read databases",
    "system.": "tell how it is",
    "trash.": "look into its trash",
    "trash.empty": "empty its trash",
}
"""The beginning of a tool's name -> what it can do; the longer beginning counts."""


def ability(tools: Iterable[str]) -> str:
    """Return what a device with all these tools can do, as words after *can*; empty without tools."""
    return listed(list(dict.fromkeys(_of(tool) for tool in tools)))


def _of(tool: str) -> str:
    begins = [name for name in _WORDS if tool.startswith(name)]
    return _WORDS[max(begins, key=len)] if begins else tool
