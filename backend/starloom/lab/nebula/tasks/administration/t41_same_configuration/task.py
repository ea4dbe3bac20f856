"""srv-b's configuration is that of srv-a but for its own port, and the old one is kept."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    old = _fields(world.had("srv-b", "etc/shop.conf").decode())
    model = _fields(world.had("srv-a", "etc/shop.conf").decode())
    new = _fields(world.text("srv-b", "etc/shop.conf"))
    yield "its own port", bool(new) and new.get("port") == old["port"], 1
    yield "else as srv-a", {**new, "port": ""} == {**model, "port": ""}, 2
    yield "as many lines", len(world.text("srv-b", "etc/shop.conf").splitlines()) == len(model) + 1, 1
    yield "the old one is kept", world.file("srv-b", "etc/shop.conf.bak") == world.had("srv-b", "etc/shop.conf"), 1


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}
