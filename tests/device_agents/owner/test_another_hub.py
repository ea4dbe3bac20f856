"""A home that joins another hub: a cut leaves neither hub with what the owner allowed to the other one."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.owner import join_command
from starloom_agent.policy.file import read_policy, write_policy
from starloom_agent.policy.policy import Policy
from starloom_agent.wire import joining
from starloom_agent.wire.dialling import Route
from starloom_protocol.vocabulary import Profile

OLD, NEW = "http://old:8470", "http://new:8470"


@pytest.mark.parametrize("step", [1, 2, 3, 0])
@pytest.mark.parametrize("before", [Profile.OPERATE, Profile.OBSERVE])
def test_t316_a_cut_gives_no_hub_the_rights_of_the_other(
    before: Profile, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = Profile.OBSERVE if before is Profile.OPERATE else Profile.OPERATE
    granted = (str(tmp_path / "files"),)

    def policy(profile: Profile) -> Policy:
        folders = granted if profile is Profile.OPERATE else ()
        return Policy(profile=profile, read=folders, write=folders)

    home = AgentHome(tmp_path / "home")
    home.make()
    home.join(Joined(hub=OLD, hub_key="AA==", name="d"))
    write_policy(home.policy, policy(before))
    monkeypatch.setattr(joining, "join", lambda route, *_, **__: Joined(hub=route.hub, hub_key="BB==", name="d"))
    written = 0

    def full(write: Any) -> Any:
        def step_of(*given: Any) -> None:
            nonlocal written
            written += 1
            if written == step:
                raise OSError(errno.ENOSPC, "no room")
            write(*given)

        return step_of

    monkeypatch.setattr(join_command, "write_policy", full(write_policy))
    monkeypatch.setattr(AgentHome, "join", full(AgentHome.join))
    asked = joining.Asked(code="x", name="d", os="linux", profile=after)

    def enter() -> None:
        join_command.enter(home, Route(NEW, "", ""), asked, policy(after), say=lambda _: None)

    if step:
        with pytest.raises(OSError, match="no room"):
            enter()
    else:
        enter()
    hub, allowed = home.joined().hub, read_policy(home.policy)
    assert allowed in (Policy(), policy(before if hub == OLD else after))
    if not step:
        assert (hub, allowed) == (NEW, policy(after))
