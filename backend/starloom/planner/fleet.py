"""The devices as the planner sees them: a plain view of the fleet's entities, and the words by which people call them.

Pure; only `LatestSnapshot` keeps anything between calls. It chooses no device for a task: placement does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol, TypeVar

from starloom_protocol.plan import Signature, signatures_of
from starloom_protocol.records.approvals import Standing
from starloom_protocol.records.entities import Device, Offer, RecipeVersion, Secret, ToolOffer
from starloom_protocol.records.fleet import Pace
from starloom_protocol.records.models import Spending
from starloom_protocol.text.look_alikes import (
    means_several,
    plain_letters,
    spelled_out,
    spelling_pattern,
    spellings_of,
    without_remark,
)
from starloom_protocol.tools.hub_tools import HUB_TOOLS, with_hub_tools
from starloom_protocol.vocabulary import DeviceLink, Effect, Profile, Repeatability, most_careful

_T = TypeVar("_T")
_WITH_ES = ("xes", "sses", "shes", "tches")
_WORD = re.compile(r"[^\W_]+")


class DeviceClass(NamedTuple):
    """The labels and parts of names that mean a class, and the operating systems that are of it."""

    words: frozenset[str]
    systems: frozenset[str] = frozenset()


DEVICE_CLASSES: dict[str, DeviceClass] = {
    "phone": DeviceClass(
        frozenset({"phone", "mobile", "handy", "smartphone", "cellphone", "cell"}), frozenset({"android", "ios"})
    ),
    "tablet": DeviceClass(frozenset({"tablet", "ipad"})),
    "server": DeviceClass(frozenset({"server"})),
    "laptop": DeviceClass(frozenset({"laptop", "notebook"})),
    "desktop": DeviceClass(frozenset({"desktop", "pc", "computer", "workstation", "desk"})),
    "mac": DeviceClass(frozenset({"mac"}), frozenset({"macos", "darwin"})),
    "windows": DeviceClass(frozenset({"windows"}), frozenset({"windows"})),
    "linux": DeviceClass(frozenset({"linux"}), frozenset({"linux"})),
}
"""The classes of devices, by the word for each."""
MACHINES = frozenset({"device", "machine"}).union(DEVICE_CLASSES, *(one.words for one in DEVICE_CLASSES.values()))
"""Words for devices of any kind."""
# class word -> words of devices that are of this class, though the class word does not mean just them: a nas is a
# server, and `the nas` is no server that is not called so.
_KINDS: dict[str, frozenset[str]] = {
    "server": frozenset({"vps", "nas", "cloud"}),
    "laptop": frozenset({"macbook", "thinkpad"}),
    "mac": frozenset({"macbook", "imac"}),
}

# what a browser says of itself in its offer, by how it begins -> the class of the device; "" is a computer
_BROWSERS = {
    "android phone": "phone",
    "iphone": "phone",
    "android tablet": "tablet",
    "ipad": "tablet",
    "mac": "",
    "windows": "",
}
PERSONAL = frozenset({"phone", "tablet"})
"""Classes of devices that people carry: each is one person's own."""


def singular(word: str) -> str:
    """Return `server` for `servers`, and `box` for `boxes`."""
    if word.endswith(_WITH_ES) and len(word) > 4:
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


@dataclass(frozen=True)
class DeviceSnapshot:
    """One device that was not revoked; `tools` are those it offers, the unavailable ones too."""

    id: str
    name: str
    os: str = ""
    labels: tuple[str, ...] = ()
    online: bool = True
    demo: bool = False
    profile: Profile = Profile.OBSERVE
    grants: frozenset[str] = frozenset()
    slots: int = 1
    tools: Mapping[str, ToolOffer] = field(default_factory=dict)
    browser: str = ""
    """The name that a browser gives itself, whose page is the device, such as *Android phone Chrome*."""
    let_in_by: str = ""
    """The author whose code it joined with; empty if that is not known."""
    reserved: bool = False
    """It takes only work that names it, and a model names it only where a person did."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words by which people may call it, in lower case and singular: its labels, the parts of its name as it is
        and without its accents, and the class that its browser says it is of.
        """
        name = self.name.casefold()
        spelled = {name, plain_letters(name), spelled_out(name)}
        parts = (singular(part) for letters in spelled for part in _WORD.findall(letters))
        kinds = {self.kind} if self.kind else set()
        return frozenset({*(label.casefold() for label in self.labels), *parts, *kinds})

    @cached_property
    def kind(self) -> str | None:
        """The class that its browser says it is of, empty for a computer; None where none says so."""
        browser = self.browser.casefold() if self.is_browser else ""
        return next((kind for words, kind in _BROWSERS.items() if browser.startswith(words)), None)

    @property
    def is_browser(self) -> bool:
        """Whether a page in a browser is the device."""
        return self.os == "browser"

    def can(self, needs: tuple[str, ...]) -> bool:
        """Return whether it offers all these tools; a device that has never sent an offer may."""
        return not self.tools or all(tool in self.tools for tool in needs)

    def can_now(self, needs: tuple[str, ...]) -> bool:
        """Return whether it has said that it can do all this, and that its owner allows it."""
        return all(tool in self.tools and self.tools[tool].unavailable is None for tool in needs)

    def may(self, needs: tuple[str, ...]) -> bool:
        """Return whether it can do all this, or could once its owner allows it: its reason names the grant then."""
        offers = [self.tools.get(tool) for tool in needs]
        return all(
            offer is not None
            and (offer.unavailable is None or (offer.grant is not None and offer.grant in offer.unavailable))
            for offer in offers
        )

    def named_in(self, words: str) -> bool:
        """Return whether words, in lower case, have its name as whole words: *nas* is no part of *nasturtium*."""
        return self.name_pattern.search(words) is not None and not means_several(self.name)

    @cached_property
    def name_pattern(self) -> re.Pattern[str]:
        """The pattern of its name as whole words in lower case, as people spell it."""
        return spelling_pattern(self.name)


@dataclass(frozen=True)
class FleetSnapshot:
    """All devices, by name; the entities behind them, by id, for placement."""

    devices: tuple[DeviceSnapshot, ...] = ()
    records: Mapping[str, Device] = field(default_factory=dict)
    offers: Mapping[str, Offer] = field(default_factory=dict)
    standing: Mapping[str, Standing] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    paces: Mapping[str, Pace] = field(default_factory=dict)
    spendings: Mapping[str, Spending] = field(default_factory=dict)
    gone: tuple[Device, ...] = ()
    """Devices that left or were revoked and that lists still show, the latest first; no plan can use them."""
    recipes: Mapping[str, RecipeVersion] = field(default_factory=dict)
    """The kept versions of saved recipes, by id: who kept one decides whether it asks."""
    asked_by: str = ""
    """The author whose words are read, who may say *my phone*; empty: nobody's in particular."""

    @staticmethod
    def of(
        devices: Mapping[str, Device],
        offers: Mapping[str, Offer],
        standing: Mapping[str, Standing] | None = None,
        secrets: Mapping[str, Secret] | None = None,
        paces: Mapping[str, Pace] | None = None,
        spendings: Mapping[str, Spending] | None = None,
        recipes: Mapping[str, RecipeVersion] | None = None,
    ) -> FleetSnapshot:
        """Take the picture from entities by id."""
        records = {device.id: device for device in devices.values() if not device.revoked}
        tools: dict[int, Mapping[str, ToolOffer]] = {}
        seen = [_seen(device, offers.get(device.id), tools) for device in records.values()]
        present_offers = {name: offer for name, offer in offers.items() if name in records}
        ordered = tuple(sorted(seen, key=lambda device: device.name))
        return FleetSnapshot(
            ordered,
            records,
            present_offers,
            dict(standing or {}),
            dict(secrets or {}),
            dict(paces or {}),
            dict(spendings or {}),
            _gone(devices, records),
            dict(recipes or {}),
        )

    def beside(
        self,
        *,
        standing: Mapping[str, Standing],
        secrets: Mapping[str, Secret],
        paces: Mapping[str, Pace],
        spendings: Mapping[str, Spending],
        recipes: Mapping[str, RecipeVersion],
    ) -> FleetSnapshot:
        """Return the same devices beside other entities; everything made of the devices alone is shared."""
        snapshot = replace(
            self, standing=standing, secrets=secrets, paces=paces, spendings=spendings, recipes=recipes, asked_by=""
        )
        return self._share(snapshot)

    def as_spoken_by(self, author: str) -> FleetSnapshot:
        """Return the same fleet for the words of an author; everything made of the devices alone is shared."""
        return self._share(replace(self, asked_by=author))

    def _share(self, other: FleetSnapshot) -> FleetSnapshot:
        """Give what was made of the devices to a snapshot of the same devices: a large fleet takes milliseconds."""
        of_devices = {"by_name": self.by_name, "_able": self._able, "_able_now": self._able_now}
        other.__dict__.update(of_devices | {"_different": self._different, "_spelled": self._spelled})
        return other

    @cached_property
    def by_name(self) -> Mapping[str, DeviceSnapshot]:
        """Devices by name in lower case, by id, and by the names that they had before.

        Words for several devices are none of them: such a name was given before it was refused.
        """
        former = {name.casefold(): device for device, name in self._former_names()}
        names = former | {device.name.casefold(): device for device in self.devices}
        single = {name: device for name, device in names.items() if not means_several(name)}
        return single | {device.id: device for device in self.devices}

    def devices_called(self, name: str) -> tuple[DeviceSnapshot, ...]:
        """Return the devices whose name people may spell so: `buero pc` for *Büro-PC*, the exact name before others.

        A remark in brackets may be left out where no other device has the rest as its name: *Büro-PC (neu)*.
        """
        if (exact := self.by_name.get(name.casefold())) is not None:
            return () if means_several(exact.name) else (exact,)
        spelled = spellings_of(name)
        for devices in self._spelled:
            if alike := {device.id: device for form in spelled for device in devices.get(form, ())}:
                return tuple(alike.values())
        return ()

    @cached_property
    def _spelled(self) -> tuple[dict[str, list[DeviceSnapshot]], dict[str, list[DeviceSnapshot]]]:
        """The devices by the spellings of their names, and by those of their names without a remark."""
        whole: dict[str, list[DeviceSnapshot]] = {}
        short: dict[str, list[DeviceSnapshot]] = {}
        for device in self.devices:
            plain = without_remark(device.name)
            of_a_class = plain == device.name or class_of(plain.casefold()) in DEVICE_CLASSES
            for name, devices in ((device.name, whole), ("" if of_a_class else plain, short)):
                for form in spellings_of(name) if not means_several(name) else ():
                    devices.setdefault(form, []).append(device)
        return whole, short

    @cached_property
    def _able(self) -> dict[tuple[str, ...], tuple[DeviceSnapshot, ...]]:
        return {}

    def able(self, needs: list[str]) -> tuple[DeviceSnapshot, ...]:
        """Return the devices that offer all these tools, real ones before those of the demonstration."""
        key = tuple(needs)
        if key not in self._able:
            fitting = [device for device in self.devices if device.can(key)]
            self._able[key] = tuple(sorted(fitting, key=lambda device: (device.demo, device.name)))
        return self._able[key]

    @cached_property
    def _able_now(self) -> dict[str, list[ToolOffer]]:
        return {}

    def able_now(self, tool: str) -> list[ToolOffer]:
        """Return the different offers of a tool by devices that can do it now, as their owners allow it."""
        if tool not in self._able_now:
            offers = (tools[tool] for tools in self._different if tool in tools)
            self._able_now[tool] = [offer for offer in offers if offer.unavailable is None]
        return self._able_now[tool]

    def known_names(self) -> list[str]:
        """Return the names and ids that plans may use."""
        former = (name for _, name in self._former_names())
        return [*(device.name for device in self.devices), *(device.id for device in self.devices), *former]

    def _former_names(self) -> Iterator[tuple[DeviceSnapshot, str]]:
        for device in self.devices:
            for name in self.records[device.id].former_names if device.id in self.records else ():
                yield device, name

    def known_tools(self) -> dict[str, Repeatability]:
        """Return every tool that a device or the hub offers, with the most careful repeatability of them."""
        by_tool: dict[str, Repeatability] = {}
        for tools in self._different:
            for offer in tools.values():
                by_tool[offer.name] = most_careful((by_tool.get(offer.name, offer.repeatability), offer.repeatability))
        return by_tool | {name: offer.repeatability for name, offer in HUB_TOOLS.items()} if by_tool else by_tool

    def known_effects(self) -> dict[str, set[Effect]]:
        """Return the effects of every tool that a device or the hub offers, those of all its offers together."""
        effects: dict[str, set[Effect]] = {name: set(offer.effects) for name, offer in HUB_TOOLS.items()}
        for tools in self._different:
            for offer in tools.values():
                effects.setdefault(offer.name, set()).update(offer.effects)
        return effects

    def known_signatures(self) -> dict[str, Signature]:
        """Return the signature of every offered tool."""
        return signatures_of(with_hub_tools(offer for tools in self._different for offer in tools.values()))

    @cached_property
    def _different(self) -> list[Mapping[str, ToolOffer]]:
        """The sets of tools that devices offer, each once."""
        return list({id(device.tools): device.tools for device in self.devices}.values())


class FleetEntities(Protocol):
    """The entities of the fleet by id, which change between calls, and how often those of some kinds have changed."""

    devices: dict[str, Device]
    offers: dict[str, Offer]
    standing: dict[str, Standing]
    paces: dict[str, Pace]
    spendings: dict[str, Spending]
    recipes: dict[str, RecipeVersion]

    def changes(self, *kinds: str) -> tuple[int, ...]: ...


class LatestSnapshot:
    """Gives the snapshot of now. The picture of the devices is kept until one of them or its offer changes.

    Each submission asks for it, and the picture of ten thousand devices takes longer than the rest of its acceptance.
    To be called on the thread that changes the entities.
    """

    def __init__(self, entities: FleetEntities, secrets: Mapping[str, Secret]) -> None:
        self._entities = entities
        self._secrets = secrets
        self._devices = FleetSnapshot()
        self._changes_of_devices: tuple[int, ...] = ()
        self._copies: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {}

    def __call__(self) -> FleetSnapshot:
        entities = self._entities
        changes = entities.changes("device", "offer")
        if changes != self._changes_of_devices:
            self._devices = FleetSnapshot.of(entities.devices, entities.offers)
            self._changes_of_devices = changes
        return self._devices.beside(
            standing=self._copy("standing", entities.standing),
            secrets=dict(self._secrets),
            paces=self._copy("pace", entities.paces),
            spendings=self._copy("spending", entities.spendings),
            recipes=self._copy("recipe", entities.recipes),
        )

    def _copy(self, kind: str, table: dict[str, _T]) -> dict[str, _T]:
        """Return a copy of a table as it is now; the same copy while nothing in it changes."""
        changes = self._entities.changes(kind)
        copy = self._copies.get(kind)
        if copy is None or copy[0] != changes:
            copy = self._copies[kind] = (changes, dict(table))
        return copy[1]


def _gone(devices: Mapping[str, Device], here: Mapping[str, Device]) -> tuple[Device, ...]:
    """Return the devices that are gone, the latest of each name; none whose name another device has taken."""
    left = [device for device in devices.values() if device.revoked and not device.forgotten]
    if not left:  # each plan is checked against a picture of the fleet, which may have thousands of devices
        return ()
    names = {name.casefold() for device in here.values() for name in (device.name, *device.former_names)}
    newest: dict[str, Device] = {}
    for device in sorted(left, key=lambda device: device.link_since_ms, reverse=True):
        if device.name.casefold() not in names:
            newest.setdefault(device.name.casefold(), device)
    return tuple(newest.values())


def gone_in(words: str, fleet: FleetSnapshot) -> Device | None:
    """Return the device among those that are gone whose name words have as whole words.

    A name that calls a device which is here, as *phone* does, means that one.
    """
    candidates = (device for device in fleet.gone if spelling_pattern(device.name).search(words.casefold()))
    return next((device for device in candidates if not of_class(device.name.casefold(), fleet.devices)), None)


def gone_words(device: Device) -> str:
    """Return when a device left or was revoked, and how it can come back."""
    at = datetime.fromtimestamp(device.link_since_ms / 1000, UTC)
    how = "left this hub" if device.left else "was revoked"
    return (
        f"{device.name} {how} on {at.day} {at:%B %Y} at {at:%H:%M} UTC. To use it again, type on it: "
        "starloom-agent leave; then join it with a fresh line of starloom enroll"
    )


def of_class(kind: str, devices: Sequence[DeviceSnapshot], *, guess: bool = True) -> list[DeviceSnapshot]:
    """Return the devices of a class; *web server* are those of both classes.

    `guess` False: a bare word names a device, so nobody is taken for it.
    """
    class_words, systems = DEVICE_CLASSES.get(class_of(kind), DeviceClass(frozenset({kind})))
    words = class_words | {kind} | _KINDS.get(class_of(kind), frozenset())
    fitting = [device for device in devices if not words.isdisjoint(device.words) or device.os.casefold() in systems]
    if not fitting and " " in kind:
        each = [of_class(word, devices, guess=False) for word in kind.split()]
        fitting = [device for device in devices if all(device in one for one in each)]
    real = [device for device in fitting if not device.demo]
    if not real and guess:
        real = _unlabelled(class_of(kind), [device for device in devices if not device.demo])
    return real or fitting


def _unlabelled(kind: str, devices: Sequence[DeviceSnapshot]) -> list[DeviceSnapshot]:
    """Return the devices that are most likely of a class, though nothing says so."""
    if kind in ("desktop", "laptop"):
        # A computer that nobody labelled: the only one that is not clearly something else.
        computers = [device for device in devices if not _is_other_class(device)]
        return computers if len(computers) == 1 else []
    if kind == "phone":
        # A browser joins by *Add device*, *A phone*; one that does not say what it runs on is most likely a phone.
        return [device for device in devices if device.is_browser and device.kind is None]
    return []


@lru_cache(maxsize=1024)
def class_of(word: str) -> str:
    """Return the class that a word means, or the word."""
    return next((name for name, one in DEVICE_CLASSES.items() if word == name or word in one.words), word)


def _is_other_class(device: DeviceSnapshot) -> bool:
    if device.is_browser and device.kind is None:
        return True
    phone, tablet, server = (DEVICE_CLASSES[name] for name in ("phone", "tablet", "server"))
    others = phone.words | tablet.words | server.words
    return not device.words.isdisjoint(others) or device.os.casefold() in phone.systems


def _seen(device: Device, offer: Offer | None, tools: dict[int, Mapping[str, ToolOffer]]) -> DeviceSnapshot:
    """Return one device; `tools` has the sets met so far by the list that devices share."""
    if offer is not None and id(offer.tools) not in tools:
        tools[id(offer.tools)] = {tool.name: tool for tool in offer.tools}
    return DeviceSnapshot(
        id=device.id,
        name=device.name,
        os=device.os,
        labels=tuple(device.labels),
        online=device.link is DeviceLink.ONLINE,
        demo=device.demo,
        profile=device.profile,
        grants=frozenset(offer.grants) if offer else frozenset(),
        slots=offer.slots if offer else 1,
        tools=tools[id(offer.tools)] if offer else {},
        browser=offer.facts.get("browser", "") if offer else "",
        let_in_by=device.let_in_by,
        reserved=device.reserved,
    )
