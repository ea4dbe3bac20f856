"""Which level is found: by trials that can fail, and what a missing one means for the offer and the decision."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from starloom_agent.policy.commands import PolicyFault
from starloom_agent.policy.file import accept_policy, read_policy, write_policy
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import PYTHON_UNCONFINED, Policy, cage_for, decide, with_grant
from starloom_agent.sandbox import cage as cages
from starloom_agent.sandbox import levels
from starloom_agent.sandbox.cage import Cage, Layer
from starloom_agent.sandbox.layers import bubblewrap
from starloom_agent.sandbox.levels import NOT_TRIED, UNCONFINED, Sandbox
from starloom_agent.tools.programs import python
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.vocabulary import Code, Effect, Profile
from tests.device_agents.sandbox.tried import HELD

(PYTHON,) = python.TOOLS
WORK = Policy(profile=Profile.WORK)
CAGED = Sandbox(Layer.LANDLOCK)
# Open to every program of this machine that is in no cage, whatever its kernel was built with.
OPEN_CALLS = ("makes memory that no limit sees", "takes descriptors of processes", "traces processes")


def answers(**reasons: str) -> Callable[[Layer], str]:
    return lambda layer: reasons.get(layer.value, "")


def test_the_strongest_layer_that_holds_is_taken() -> None:
    assert levels.find(attempt=answers()).layer is Layer.NAMESPACES
    assert levels.find(attempt=answers(namespaces="forbidden")).level == "L2-bubblewrap"


def test_without_a_layer_the_reasons_are_kept() -> None:
    found = levels.find(attempt=answers(namespaces="forbidden", bubblewrap="not there", landlock="too old"))
    assert found.level == "L1"
    assert found.reason == "namespaces: forbidden; bubblewrap: not there; landlock: too old"


def test_the_trial_sees_a_cage_that_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_TRIAL_WITHIN_S", 2.0)
    monkeypatch.setattr(cages, "command", lambda _, program: program)
    reason = levels.trial(Layer.NAMESPACES)
    for what in ("reads files", "changes files", "makes files", "changes modes", "reaches the network", *OPEN_CALLS):
        assert what in reason
    assert "uses memory without limit, a program in it uses disk without limit" in reason


# bubblewrap starts the cage's code a second time, which these changes do not reach.
CHANGED_HERE = [layer for layer in HELD if layer is not Layer.BUBBLEWRAP]


@pytest.mark.parametrize("layer", CHANGED_HERE)
def test_the_trial_sees_a_cage_without_its_filter(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    without = "from starloom_agent.sandbox.layers import seccomp; seccomp.restrict = lambda **_: None; sys.exit("
    monkeypatch.setattr(cages, "_RUN", cages._RUN.replace("sys.exit(", without))
    reason = levels.trial(layer)
    for what in OPEN_CALLS:
        assert what in reason
    # Mounts keep the metadata of files outside; Landlock does not.
    assert ("changes modes" in reason) == (layer is Layer.LANDLOCK)


@pytest.mark.parametrize("layer", HELD)
def test_the_trial_sees_a_cage_without_its_watch(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_TRIAL_WITHIN_S", 2.0)
    without = "from starloom_agent.sandbox import quota; quota.Quota.passed = lambda _: []; sys.exit("
    monkeypatch.setattr(cages, "_RUN", cages._RUN.replace("sys.exit(", without))
    assert "uses memory without limit, a program in it uses disk without limit" in levels.trial(layer)


def test_the_trial_sees_a_cage_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cages, "command", lambda *_: ["sh", "-c", "echo no namespaces here >&2; exit 125"])
    assert levels.trial(Layer.NAMESPACES) == "no namespaces here"


def test_without_a_cage_python_is_refused_with_the_line_to_type() -> None:
    decision = decide(WORK, PYTHON, {}, sandbox=NOT_TRIED)
    assert (decision.allowed, decision.code) == (False, Code.TOOL_UNAVAILABLE)
    assert decision.line == "starloom-agent grant python:unconfined"


def test_the_owner_may_do_without_and_then_it_says_so(tmp_path: Path) -> None:
    policy = with_grant(WORK, PYTHON_UNCONFINED, [])
    decision = decide(policy, PYTHON, {}, sandbox=CAGED)
    assert decision.allowed
    assert "without a cage" in decision.reason
    assert cage_for(policy, PYTHON, CAGED) == UNCONFINED
    assert offered(policy, CAGED, tmp_path).effects == list(Effect)


def test_the_unconfined_grant_alone_allows_no_python() -> None:
    policy = with_grant(Policy(), PYTHON_UNCONFINED, [])
    assert decide(policy, PYTHON, {}, sandbox=CAGED).code is Code.MISSING_GRANT


def offered(policy: Policy, sandbox: Sandbox, folder: Path) -> ToolOffer:
    offer = make_offer([PYTHON], policy, slots=1, folder=folder, sandbox=sandbox).offer
    assert offer.facts["sandbox"] == sandbox.level
    return offer.tools[0]


def test_the_offer_says_what_holds(tmp_path: Path) -> None:
    assert offered(WORK, CAGED, tmp_path).unavailable is None
    assert offered(WORK, CAGED, tmp_path).effects == [Effect.READ, Effect.WRITE]
    assert "grant python:unconfined" in str(offered(WORK, Sandbox(None, "no Linux"), tmp_path).unavailable)
    assert "no Linux" in str(offered(WORK, Sandbox(None, "no Linux"), tmp_path).unavailable)


def test_a_cage_survives_its_text() -> None:
    cage = Cage(Layer.BUBBLEWRAP, "/w", ("/i",), ("/x", "/y"), 5, 6)
    assert Cage.of(cage.text()) == cage


def test_bubblewrap_is_given_named_folders_only() -> None:
    argv = bubblewrap.command(Cage(Layer.BUBBLEWRAP, "/w", read=("/r",)), "bwrap", ["true"])
    assert argv[-4:] == ["--chdir", "/w", "--", "true"]
    assert "--unshare-all" in argv
    bound = [argv[index + 1] for index, word in enumerate(argv) if word == "--bind"]
    assert bound == ["/w/.tmp", "/w/.tmp", "/w"]
    assert "/" not in argv


@pytest.mark.parametrize("folder", ["", "..", "run", "work/1", "device.key"])
def test_a_folder_with_the_agents_own_files_cannot_be_granted(tmp_path: Path, folder: str) -> None:
    home = tmp_path / "home"
    (home / "work" / "1").mkdir(parents=True)
    policy = Policy(profile=Profile.FILES, write=(str(home / folder),))
    with pytest.raises(PolicyFault, match="own key and policy"):
        write_policy(home / "policy.toml", policy)
    (home / "policy.toml").write_text(f'profile = "files"\nwrite = ["{home / folder}"]\n')
    (home / "policy.toml").chmod(0o600)
    with pytest.raises(PolicyFault, match="own key and policy"):
        accept_policy(home / "policy.toml")


def test_a_folder_beside_them_can(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "workspace").mkdir(parents=True)
    for folder in (home / "workspace", tmp_path / "pictures"):
        write_policy(home / "policy.toml", Policy(profile=Profile.FILES, write=(str(folder),)))
        assert read_policy(home / "policy.toml").write == (str(folder),)
