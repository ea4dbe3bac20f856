"""Fleets for tests: devices with tools, made of the same entities as the hub's."""

from __future__ import annotations

from collections.abc import Iterable

from starloom.planner.fleet import FleetSnapshot
from starloom_agent.work.registry import all_tools
from starloom_protocol.records.entities import Device, Offer, ToolOffer
from starloom_protocol.vocabulary import DeviceLink, Repeatability

GRANTS = ("files:read", "files:write", "net:reach", "python:run", "shell:run")


def device(
    name: str,
    *,
    labels: Iterable[str] = (),
    os: str = "linux",
    demo: bool = False,
    online: bool = True,
    let_in_by: str = "",
    reserved: bool = False,
) -> Device:
    link = DeviceLink.ONLINE if online else DeviceLink.OFFLINE
    return Device(
        id=f"d-{name.replace(' ', '-')}",
        joined_ms=1,
        key="k",
        labels=list(labels),
        let_in_by=let_in_by,
        link=link,
        name=name,
        os=os,
        demo=demo,
        reserved=reserved,
    )


def tab_offer(browser: str) -> Offer:
    """Return the offer of a browser's page; `browser` is what it says of itself."""
    names = ("ask", "camera.capture", "file.pick", "file.save", "notify")
    tools = [ToolOffer(name=name, title=name, effects=[], repeatability=Repeatability.NEVER) for name in names]
    return Offer(digest="tab", facts={"browser": browser} if browser else {}, grants=[], slots=4, tools=tools)


def offer(*, grants: Iterable[str] = GRANTS, without: Iterable[str] = ()) -> Offer:
    """Return the offer of an agent with these grants; a tool whose grant is missing is not available there."""
    given, left_out = set(grants), set(without)
    tools = [
        ToolOffer(
            name=tool.name,
            title=tool.title,
            effects=list(tool.effects),
            grant=tool.grant,
            repeatability=tool.repeatability,
            unavailable=None
            if tool.grant is None or tool.grant in given
            else f"the profile does not allow {tool.grant}",
        )
        for tool in all_tools()
        if not tool.lab_only and tool.name not in left_out
    ]
    return Offer(digest="x", grants=sorted(given), slots=3, tools=tools)


def fleet(*devices: Device, offers: dict[str, Offer] | None = None) -> FleetSnapshot:
    made = {item.id: (offers or {}).get(item.name, offer()) for item in devices}
    return FleetSnapshot.of({item.id: item for item in devices}, made)


def sample() -> FleetSnapshot:
    """Return the three devices of the sample request."""
    return fleet(device("vm"), device("demo-server", demo=True), device("demo-phone", demo=True))
