"""The tools of a model's context: all of them where they fit, else the usual ones, an index, and those near the words.

Pure and bounded. The text that does not depend on the request is sorted and stands first; nothing is left out for its
place in the alphabet: if not everything fits, the rest is chosen by its words, counted, and can be asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from starloom.planner.context.devices import GRANT, Devices
from starloom.planner.context.relevance import GUIDED, USUAL, content_words, ranked
from starloom.planner.context.tool_lines import ABOUT_CHARS, description, gives, searched, signature
from starloom.planner.fleet import DeviceSnapshot, FleetSnapshot
from starloom.planner.quoting import plain
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.text.folder_grants import plain_grant_line
from starloom_protocol.text.wording import few
from starloom_protocol.tools.hub_tools import HUB_TOOLS
from starloom_protocol.tools.profiles import TAB_OS

TOOLS_BYTES: Final = 8_600
"""The tools with their arguments and the index of the others together."""
INDEX_BYTES: Final = 2_600
NOT_GRANTED_BYTES: Final = 1_500
NEAR_MOST: Final = 24
HINTS_MOST: Final = 6
NAMES_MOST: Final = 12
FAMILY_NAMED_MOST: Final = 8
SCORE_SHARE: Final = 0.25
"""A tool that is less near than this share of the nearest one is noise."""
NEEDS_MOST: Final = 4
MORE_MOST: Final = 16
MORE_BYTES: Final = 5_000
GUIDE_CHARS: Final = 390
"""Enough for the first sentences of each, which say how it takes and gives values."""
WHOLE_CHARS: Final = 1_200
"""For a tool that the model asks about by its name."""
ASKED_MOST: Final = 3


@dataclass(frozen=True)
class Tool:
    """One tool by name: the offer of a device that can, and the devices that can and that may not yet."""

    offer: ToolOffer
    able: tuple[DeviceSnapshot, ...]
    refusing: tuple[DeviceSnapshot, ...]


@dataclass(frozen=True)
class Shelf:
    """The tools of a fleet as they are shown to one request. `full` have their arguments in the stable part."""

    tools: tuple[Tool, ...]
    full: tuple[Tool, ...]
    devices: Devices

    @property
    def rest(self) -> list[Tool]:
        """The tools whose arguments the stable part does not show."""
        names = {tool.offer.name for tool in self.full}
        return [tool for tool in self.tools if tool.offer.name not in names]


def shelf(fleet: FleetSnapshot, devices: Devices) -> Shelf:
    """Sort the tools of a fleet; whatever is asked, the outcome is the same."""
    tools = tuple(sorted(_offered(fleet), key=lambda tool: tool.offer.name))
    usable = [tool for tool in tools if tool.able]
    if sum(_size(line(tool, devices)) for tool in usable) <= TOOLS_BYTES:
        return Shelf(tools, tuple(usable), devices)
    full: list[Tool] = []
    room = TOOLS_BYTES
    for tool in usable:
        size = _size(line(tool, devices))
        if tool.offer.name in USUAL and size <= room:
            full.append(tool)
            room -= size
    return Shelf(tools, tuple(full), devices)


def guided_line(tool: Tool, devices: Devices) -> str:
    """Return one tool of the stable part; those that most plans rest on say how they take and give values."""
    text = line(tool, devices)
    described = description(tool.offer, GUIDE_CHARS) if tool.offer.name in GUIDED else ""
    return f"{text}\n  {described}" if described else text


def line(tool: Tool, devices: Devices, *, about: bool = False, most: int = ABOUT_CHARS) -> str:
    """Return one tool with arguments, effects, devices and result, with `about` its description as well."""
    offer = tool.offer
    text = f"{signature(offer)} [{','.join(offer.effects)}]"
    if tool.able and not devices.on_every(tool.able):
        text += f" on: {devices.who(tool.able)}"
    if about and tool.refusing:
        text += f" not allowed yet on: {devices.who(tool.refusing)}"
    text += f" - {plain(offer.title)}"
    result = gives(offer)
    if result:
        text += f" -> {result}"
    described = description(offer, most) if about else ""
    return f"{text}\n  {described}" if described else text


def index(shelf: Shelf, left_out: list[str]) -> list[str]:
    """Return the names of the tools that are not shown whole: with titles, or alone, or only their families."""
    rest = [tool for tool in shelf.rest if tool.able]
    if not rest:
        return []
    room = min(INDEX_BYTES, TOOLS_BYTES - sum(_size(line(tool, shelf.devices)) for tool in shelf.full))
    for lines in (
        [f"{plain(tool.offer.name, 64)} - {plain(tool.offer.title, 60)}" for tool in rest],
        [", ".join(plain(tool.offer.name, 64) for tool in rest)],
    ):
        if sum(map(_size, lines)) <= room:
            left_out.append(f"{len(rest)} tools are named without their arguments.")
            return lines
    families: dict[str, list[Tool]] = {}
    for tool in rest:
        families.setdefault(tool.offer.name.rpartition(".")[0], []).append(tool)
    lines, counted = [], 0
    for family, members in sorted(families.items(), key=lambda item: (-len(item[1]), item[0])):
        able = {device.id: device for tool in members for device in tool.able}
        on = "" if shelf.devices.on_every(able.values()) else f" on {shelf.devices.who(able.values())}"
        text = f"{plain(family, 64)}.*: {len(members)}{on}"
        if len(members) <= FAMILY_NAMED_MOST:
            text = ", ".join(plain(tool.offer.name, 64) for tool in members) + on
        room -= _size(text)
        if room < 0:
            break
        lines.append(text)
        counted += len(members)
    unnamed = f", {len(rest) - counted} not even by family" if counted < len(rest) else ""
    left_out.append(f"{len(rest)} tools are named without their arguments, many only by family{unnamed}.")
    return lines


def near(shelf: Shelf, words: str, room: int, needed: Collection[str] = (), *, fill: bool = False) -> list[str]:
    """Return the tools nearest to the words, whole; of those that are shown already, only what more there is to say.

    `needed` come first; `fill` uses the room up with tools that have no word of the request. Where room is short,
    the lines of all come before what any of them says of itself.
    """
    full = {tool.offer.name for tool in shelf.full}
    nearest = _nearest(shelf, words, needed, fill=fill)
    lines: dict[str, str] = {}
    for tool in nearest:
        text = "" if tool.offer.name in full else line(tool, shelf.devices)
        if text and _size(text) <= room and (fill or len(lines) < NEAR_MOST):
            lines[tool.offer.name] = text
            room -= _size(text)
    hints = 0
    for tool in nearest:
        name = tool.offer.name
        text = lines.get(name, plain(name, 64) if name in full and hints < HINTS_MOST else "")
        described = description(tool.offer)
        whole = f"{text}\n  {described}" if name in lines else f"{text}: {described}"
        if text and described and _size(whole) - _size(lines.get(name, "")) <= room:
            room -= _size(whole) - _size(lines.get(name, ""))
            lines[name] = whole
            hints += name in full
    return [lines[tool.offer.name] for tool in nearest if tool.offer.name in lines]


def _nearest(shelf: Shelf, words: str, needed: Collection[str], *, fill: bool) -> list[Tool]:
    """Return the tools that may be told, the nearest first; those that the stable part explains are left out."""
    full = {tool.offer.name for tool in shelf.full}
    content = content_words(words)
    scored = _ranked(shelf.tools, words, needed)
    least = SCORE_SHARE * max((score for _, score in scored), default=0.0)
    nearest: list[Tool] = []
    for tool, score in scored:
        name = tool.offer.name
        if name in full and name in GUIDED:
            continue
        if name not in needed:
            far = score <= 0 or score < least
            if far and (name in full or not fill):
                continue
            # A tool that nobody allows is worth its room only where the request speaks of the very thing.
            if not tool.able and not fill and not _words_of_name(tool) & content:
                continue
        nearest.append(tool)
    return nearest


def more(shelf: Shelf, words: str, told_names: set[str]) -> list[str]:
    """Return the tools nearest to the words that were not told yet, whole, and add their names to `told_names`.

    A tool that the words name comes first with all that it says of itself, also where its line was told before.
    """
    asked_tools = [tool for tool in shelf.tools if tool.offer.name in words][:ASKED_MOST]
    lines = [line(tool, shelf.devices, about=True, most=WHOLE_CHARS) for tool in asked_tools]
    told_names |= {tool.offer.name for tool in asked_tools}
    room = MORE_BYTES - sum(map(_size, lines))
    for tool, score in _ranked(shelf.tools, words, ()):
        if not score or tool.offer.name in told_names:
            continue
        text = line(tool, shelf.devices, about=True)
        if len(lines) == MORE_MOST or _size(text) > room:
            break
        lines.append(text)
        told_names.add(tool.offer.name)
        room -= _size(text)
    return lines


def not_granted(shelf: Shelf, room: int, left_out: list[str]) -> list[str]:
    """Return the tools that devices have but do not allow or cannot run now, with the line or reason for each set."""
    by_way: dict[tuple[str, str], dict[str, list[DeviceSnapshot]]] = {}
    for tool in shelf.tools:
        for device in tool.refusing:
            by_way.setdefault(_why(device, tool.offer.name), {}).setdefault(tool.offer.name, []).append(device)
    lines: list[tuple[int, str]] = []
    for (grant, way), tools in sorted(by_way.items()):
        sets: dict[tuple[str, ...], list[str]] = {}
        for name, devices in tools.items():
            sets.setdefault(tuple(device.id for device in devices), []).append(name)
        for names in sets.values():
            who = shelf.devices.who(tools[names[0]])
            names_text = few([plain(name, 64) for name in names], NAMES_MOST)
            opens = f"{grant} on {who}" if grant else f"on {who}"
            lines.append((len(names), f"{opens}: {names_text}; {way}"))
    texts: list[str] = []
    # The grant that opens most tools comes first.
    for _, text in sorted(lines, key=lambda item: -item[0]):
        if _size(text) > room:
            left_out.append(f"{len(lines) - len(texts)} more grants are missing and not listed.")
            break
        texts.append(text)
        room -= _size(text)
    return texts


def ways(shelf: Shelf, needs: Sequence[tuple[str, str]]) -> str:
    """Return sentences on how owners give the grants that a model named, for those that some device really lacks.

    The lines are made here: nothing that a model wrote becomes a line to type.
    """
    sentences: dict[str, None] = {}
    for grant, name in needs:
        for tool in shelf.tools:
            for device in tool.refusing if tool.offer.grant == grant else ():
                if name in ("", device.name):
                    sentences[f" {device.name} would have to allow {grant}; {_why(device, tool.offer.name)[1]}."] = None
    return "".join(list(sentences)[:NEEDS_MOST])


def _why(device: DeviceSnapshot, tool: str) -> tuple[str, str]:
    """Return the grant that a tool lacks on a device, empty if it is something else, and the way to it."""
    offer = device.tools[tool]
    if offer.grant is not None and offer.grant not in device.grants and GRANT.fullmatch(offer.grant):
        if device.os == TAB_OS:
            return offer.grant, plain(offer.unavailable or "", 160)
        return offer.grant, f"there: {plain_grant_line(offer.grant, device.os)}"
    return "", f"cannot run now: {plain(offer.unavailable or '', 160)}"


def _ranked(tools: Sequence[Tool], words: str, needed: Collection[str]) -> list[tuple[Tool, float]]:
    """Return the tools with their scores, the needed ones first, then by nearness."""
    return sorted(
        ranked([(tool, searched(tool.offer)) for tool in tools], words),
        key=lambda pair: (pair[0].offer.name not in needed, -pair[1]),
    )


def _words_of_name(tool: Tool) -> set[str]:
    """Return the words of a tool's name and title."""
    return content_words(f"{tool.offer.name.replace('.', ' ').replace('_', ' ')} {tool.offer.title}")


def _offered(fleet: FleetSnapshot) -> Iterable[Tool]:
    offers: dict[str, list[tuple[DeviceSnapshot, ToolOffer]]] = {}
    for device in sorted(fleet.devices, key=lambda device: device.name):
        for name, offer in device.tools.items():
            if name not in HUB_TOOLS:
                offers.setdefault(name, []).append((device, offer))
    for pairs in offers.values():
        able = tuple(device for device, offer in pairs if not offer.unavailable)
        refusing = tuple(device for device, offer in pairs if offer.unavailable)
        yield Tool(next((offer for _, offer in pairs if not offer.unavailable), pairs[0][1]), able, refusing)
    for offer in HUB_TOOLS.values() if fleet.devices else ():
        # The hub needs no device for them, so it stands beside them as if each could.
        yield Tool(offer, fleet.devices, ())


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + 1
