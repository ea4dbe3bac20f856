"""An upgrade decides before it does: versions, agents that were installed otherwise, calls that run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import starloom_agent
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.home.identity import Identity
from starloom_agent.home.locking import AlreadyRunning, hold_home, hold_upgrade
from starloom_agent.install import upgrading
from starloom_agent.install.upgrading import CannotUpgrade, UpgradeOptions, refusal, upgrade
from starloom_agent.wire import signed_requests
from starloom_agent.wire.signed_requests import Release, Wheel
from starloom_protocol.wire.version import release_numbers


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentHome:
    made = AgentHome((tmp_path / "home").resolve())
    made.make()
    made.join(Joined(hub="http://127.0.0.1:9", hub_key="k", name="box"))
    (made.root / "venv-first").mkdir()
    (made.root / "venv").symlink_to("venv-first")
    monkeypatch.setattr(sys, "prefix", str(made.root / "venv"))
    return made


def offered(version: str) -> Release:
    names = ("starloom_protocol", "starloom_agent")
    wheels = [Wheel(bytes=1, file=f"{n}-{version}.whl", name=n, sha256="0" * 64, version=version) for n in names]
    return Release(requirements="0" * 64, wheels=wheels)


@pytest.mark.parametrize(
    ("installed", "there", "options", "words"),
    [
        ("0.1.0", "0.2.0", UpgradeOptions(), None),
        ("0.9.0", "0.10.0", UpgradeOptions(), None),
        ("0.1.0", "0.1.0", UpgradeOptions(), "--again"),
        ("0.1.0", "0.1.0", UpgradeOptions(again=True), None),
        ("0.10.0", "0.9.9", UpgradeOptions(), "--downgrade"),
        ("0.10.0", "0.9.9", UpgradeOptions(again=True), "--downgrade"),
        ("0.10.0", "0.9.9", UpgradeOptions(downgrade=True), None),
        ("0.1.0", "0.1.0+local", UpgradeOptions(), "--downgrade"),
        ("0.1.0", "newest", UpgradeOptions(), "--downgrade"),
        ("dev", "0.1.0", UpgradeOptions(), "--downgrade"),
    ],
)
def test_only_a_newer_version_is_installed_unasked(
    installed: str, there: str, options: UpgradeOptions, words: str | None
) -> None:
    found = refusal(installed, there, options)
    assert (found is None) if words is None else (found is not None and words in found)


def test_versions_are_compared_as_numbers() -> None:
    assert release_numbers("0.10.0") > release_numbers("0.9.12")
    assert release_numbers("1.2+abc") == (1, 2)
    assert release_numbers("1.x") == release_numbers("") == release_numbers("1." + "9" * 7) == ()


@pytest.mark.parametrize(
    ("beside_hub", "words"),
    [
        (False, r"not installed by join.py, it runs from /opt/other.*pipx upgrade starloom-agent"),
        (True, r"the hub's own environment /opt/other and is upgraded with the hub"),
    ],
)
def test_an_agent_that_was_installed_otherwise_is_left_alone(
    home: AgentHome, monkeypatch: pytest.MonkeyPatch, words: str, *, beside_hub: bool
) -> None:
    monkeypatch.setattr(sys, "prefix", "/opt/other")
    monkeypatch.setattr(upgrading, "find_spec", lambda _name: object() if beside_hub else None)
    with pytest.raises(CannotUpgrade, match=words):
        upgrade(home, print, UpgradeOptions())


def test_two_upgrades_of_one_home_do_not_meet(home: AgentHome) -> None:
    with hold_upgrade(home), pytest.raises(AlreadyRunning, match="upgrades the agent of"):
        upgrade(home, print, UpgradeOptions())


def test_calls_that_run_are_not_cut_short_unasked(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> None:
    def release(_joined: Joined, _identity: Identity) -> Release:
        return offered("900.0")

    monkeypatch.setattr(signed_requests, "release", release)
    monkeypatch.setattr(upgrading._Upgrade, "_install", lambda _self, _offered: home.root / "venv-900.0-new")
    monkeypatch.setattr(upgrading._Upgrade, "_try_cold", lambda _self, _made: None)
    replaced: list[bool] = []
    monkeypatch.setattr(upgrading._Upgrade, "_replace", lambda *_args, ran: replaced.append(ran))
    (home.work / "abc123-4").mkdir()
    said: list[str] = []
    with hold_home(home):
        with pytest.raises(CannotUpgrade, match=r"1 calls still run here.*drain box"):
            upgrade(home, said.append, UpgradeOptions(wait_s=0.0))
        assert not replaced
        upgrade(home, said.append, UpgradeOptions(now=True))
        (home.work / "abc123-4").rmdir()
        upgrade(home, said.append, UpgradeOptions(wait_s=0.0))
    assert replaced == [True, True]
    assert said.count(f"version    {starloom_agent.__version__} here, 900.0 at the hub") == 3
