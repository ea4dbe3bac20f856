"""The policy as a table: profile x grant, command rules, and the line to type for each refusal."""

from __future__ import annotations

import stat
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom_agent.cli import main
from starloom_agent.home.directory import AgentHome
from starloom_agent.policy.allowance import Allowance
from starloom_agent.policy.commands import CommandRule, PolicyFault
from starloom_agent.policy.file import accept_policy, adopt_policy, read_policy, to_toml, write_policy
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import (
    ANSWERS_HUB,
    Policy,
    decide,
    policy_of,
    why_not_offered,
    with_grant,
    without_grant,
    written_beside,
)
from starloom_agent.sandbox.levels import NOT_TRIED
from starloom_agent.toolkit.interface import Args, Tool
from starloom_agent.work.registry import all_tools
from starloom_protocol.text.folder_grants import POLICY_NOT_IN_FORCE
from starloom_protocol.values import list_key
from starloom_protocol.vocabulary import Code, Effect, Profile, Repeatability

pytestmark = pytest.mark.short


def tool(grant: str | None) -> Tool:
    return Tool("x.y", "", Args, lambda _context, _args: None, (), Repeatability.PURE, grant=grant)


FULL: dict[str, Any] = {"read": ("/d",), "write": ("/d",), "hosts": ("h",), "commands": (CommandRule.of(["uptime"]),)}
ROWS = [
    (profile, grant, grant is None or (order >= least))
    for order, profile in enumerate(Profile)
    for grant, least in (
        (None, 0),
        ("files:read", 1),
        ("files:write", 1),
        ("python:run", 2),
        ("git:run", 2),
        ("service:restart", 3),
        ("net:reach", 3),
        ("screen:control", 4),
    )
]


@pytest.mark.parametrize(("profile", "grant", "allowed"), ROWS)
def test_what_each_profile_allows(profile: Profile, grant: str | None, allowed: bool) -> None:
    policy = Policy(profile=profile, **FULL)
    decision = decide(policy, tool(grant), {})
    assert decision.allowed is allowed
    assert (why_not_offered(policy, tool(grant)) is None) is allowed
    if not allowed:
        assert decision.code is Code.MISSING_GRANT
        assert f"starloom-agent grant {grant}" in decision.detail


def test_files_without_a_folder_are_not_allowed() -> None:
    decision = decide(Policy(profile=Profile.WORK), tool("files:read"), {})
    assert not decision.allowed
    assert decision.line == "starloom-agent grant files:read DIR"


def test_a_result_file_needs_a_folder_to_write() -> None:
    assert not decide(Policy(), tool(None), {}, writes="a.html").allowed
    assert decide(Policy(profile=Profile.FILES, write=("/d",)), tool(None), {}, writes="a.html").allowed


RULES = (
    CommandRule.of(["uptime"]),
    CommandRule.of(["systemctl", "status", {"word": "[a-z0-9@._-]+"}]),
    CommandRule.of(["ls", "-l", {"rest": "[a-z/]+"}]),
)


@pytest.mark.parametrize(
    ("argv", "allowed"),
    [
        (["uptime"], True),
        (["uptime", "-p"], False),
        (["systemctl", "status", "ssh"], True),
        (["systemctl", "status"], False),
        (["systemctl", "status", "ssh", "cron"], False),
        (["systemctl", "status", "--all"], False),
        (["systemctl", "stop", "ssh"], False),
        (["systemctl", "status", "a;b"], False),
        (["systemctl", "status", "ssh\n"], False),
        (["ls", "-l"], True),
        (["ls", "-l", "/a", "/b"], True),
        (["ls", "-l", "/a", "-R"], False),
        (["/usr/bin/uptime"], False),
        ([], False),
        ("uptime", False),
        (["uptime\x00"], False),
        ([1], False),
    ],
)
def test_command_rules(argv: Any, allowed: bool) -> None:
    policy = Policy(profile=Profile.OPERATE, commands=RULES)
    assert decide(policy, tool("shell:run"), {"argv": argv}).allowed is allowed


def test_a_refused_command_names_the_line() -> None:
    decision = decide(Policy(profile=Profile.OPERATE, commands=RULES), tool("shell:run"), {"argv": ["rm", "a b"]})
    assert decision.code is Code.POLICY_REFUSED
    assert decision.line == "starloom-agent grant shell:run -- rm 'a b'"


@pytest.mark.parametrize(
    "argv", [[], "uptime", [{"word": "a"}], ["a", {"word": "("}], ["a", {"rest": "b"}, "c"], ["a", {"other": "b"}]]
)
def test_a_wrong_rule_is_refused_with_its_place(argv: Any) -> None:
    with pytest.raises(PolicyFault, match=r"^rule"):
        CommandRule.of(argv, "rule")


def test_grants_come_and_go(tmp_path: Path) -> None:
    policy = with_grant(Policy(), "files:read", [str(tmp_path)])
    assert policy.allowed == {"files:read"}
    policy = with_grant(policy, "shell:run", ["df", "{-[a-z]}"])
    assert decide(policy, tool("shell:run"), {"argv": ["df", "-h"]}).allowed
    assert without_grant(policy, "files:read", [str(tmp_path)]).allowed == {"shell:run"}
    denied = without_grant(policy, "shell:run", [])
    assert decide(denied, tool("shell:run"), {"argv": ["df", "-h"]}).code is Code.POLICY_REFUSED


def test_a_grant_of_a_program_that_is_not_here_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ["--home", str(tmp_path / "own")]
    assert main(["grant", "shell:run", *home, "--", "no-such-program", "x"]) == 0
    assert "there is no program no-such-program in the PATH here" in capsys.readouterr().out
    assert main(["grant", "shell:run", *home, "--", "env"]) == 0
    assert "there is no program" not in capsys.readouterr().out


def test_a_grant_where_no_agent_has_joined_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("STARLOOM_AGENT_HOME", raising=False)
    assert main(["grant", "git:run"]) != 0
    assert "no agent has joined a hub in" in capsys.readouterr().err
    assert not (tmp_path / ".starloom-agent").exists()
    # A named home may be prepared before it joins.
    assert main(["grant", "git:run", "--home", str(tmp_path / "own")]) == 0
    assert "git:run" in read_policy(tmp_path / "own" / "policy.toml").grants


def test_a_grant_without_its_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyFault, match="needs a folder"):
        with_grant(Policy(), "files:read", [])
    with pytest.raises(PolicyFault, match="is not a folder"):
        with_grant(Policy(), "files:write", [str(tmp_path / "missing")])
    with pytest.raises(PolicyFault, match="is not a grant"):
        with_grant(Policy(), "everything", [])
    with pytest.raises(PolicyFault, match="is not granted"):
        without_grant(Policy(), "python:run", [])


def test_the_file_keeps_everything_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    policy = Policy(
        profile=Profile.OPERATE,
        grants=frozenset({"screen:capture"}),
        denied=frozenset({"git:run"}),
        read=('/a "quoted" path', "/\u00e4"),
        write=("/b\\c",),
        hosts=("example.org",),
        commands=RULES,
    )
    write_policy(path, policy)
    assert read_policy(path) == policy
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_file_means_observe(tmp_path: Path) -> None:
    assert read_policy(tmp_path / "none") == Policy()


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    write_policy(path, Policy())
    path.chmod(0o666)
    with pytest.raises(PolicyFault, match="chmod 600"):
        read_policy(path)


@pytest.mark.parametrize(
    ("plain", "place"),
    [
        ({"profiles": 1}, "profiles"),
        ({"profile": "all"}, "profile"),
        ({"read": "x"}, "read"),
        ({"grants": ["x"]}, "grants"),
        ({"commands": [{"argv": ["a"], "x": 1}]}, r"commands\[0\]"),
    ],
)
def test_a_wrong_field_is_named(plain: dict[str, Any], place: str) -> None:
    with pytest.raises(PolicyFault, match=f"^{place}"):
        policy_of(plain)


def test_a_policy_edited_by_hand_is_not_in_force(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    write_policy(path, Policy(profile=Profile.FILES, write=(str(tmp_path / "docs"),)))
    sealed = path.read_text(encoding="utf-8")
    for text in (
        sealed.replace('"files"', '"operate"'),
        'profile = "operate"\n',
        sealed.replace("# seal: ", "# seal: 0"),
        sealed + 'hosts = ["*"]\n',
        "",
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(PolicyFault, match="starloom-agent policy accept"):
            read_policy(path)
    path.write_text(sealed, encoding="utf-8")
    assert read_policy(path).profile is Profile.FILES


def test_another_homes_seal_does_not_fit(tmp_path: Path) -> None:
    write_policy(tmp_path / "mine/policy.toml", Policy())
    write_policy(tmp_path / "theirs/policy.toml", Policy(profile=Profile.OPERATE))
    (tmp_path / "mine/policy.toml").write_bytes((tmp_path / "theirs/policy.toml").read_bytes())
    with pytest.raises(PolicyFault, match="policy accept"):
        read_policy(tmp_path / "mine/policy.toml")


def test_the_owner_accepts_what_was_edited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, docs = tmp_path / "policy.toml", tmp_path / "docs"
    docs.mkdir()
    write_policy(path, Policy())
    path.write_text(f'profile = "files"\nread = ["{docs}"]\nwrite = ["{docs}"]\n', encoding="utf-8")
    home = ["--home", str(tmp_path)]
    assert main(["grant", "files:read", str(docs), *home]) == 1
    assert main(["policy", *home]) == 1
    assert "starloom-agent policy accept" in capsys.readouterr().err
    assert main(["policy", "accept", *home]) == 0
    assert f'write = ["{docs}"]' in capsys.readouterr().out
    assert read_policy(path).write == (str(docs),)
    assert main(["grant", "files:read", str(docs), *home]) == 0


def test_a_folder_behind_a_link_is_not_accepted(tmp_path: Path) -> None:
    path = tmp_path / "home/policy.toml"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_policy(path, Policy())
    path.write_text(f'profile = "files"\nwrite = ["{tmp_path / "link"}"]\n', encoding="utf-8")
    with pytest.raises(PolicyFault, match="real"):
        accept_policy(path)


def test_a_policy_from_before_seals_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('profile = "files"\n', encoding="utf-8")
    path.chmod(0o600)
    adopt_policy(path)
    assert read_policy(path).profile is Profile.FILES
    path.write_text('profile = "operate"\n', encoding="utf-8")
    adopt_policy(path)
    with pytest.raises(PolicyFault, match="policy accept"):
        read_policy(path)


SHELL = next(one for one in all_tools() if one.name == "shell.run")


def operating(*rules: CommandRule) -> Policy:
    return Policy(profile=Profile.OPERATE, read=("/d",), commands=rules)


@pytest.mark.parametrize(
    ("call", "because"),
    [
        ({}, ""),
        ({"cwd": ""}, ""),
        ({"stdin": "", "env": {}}, ""),
        ({"cwd": "p"}, "the hub chooses its folder (/d/p), and the rule names none"),
        ({"cwd": "/d"}, "the hub chooses its folder (/d), and the rule names none"),
        ({"stdin": "id"}, "the hub chooses its stdin"),
        ({"env": {"MY_TOKEN": "x"}}, "the hub chooses its env"),
        ({"env": {"MY_TOKEN": "x"}, "stdin": "id", "cwd": "/d"}, "the hub chooses its stdin and env"),
    ],
)
def test_a_rule_typed_whole_covers_nothing_beside_it(call: dict[str, Any], because: str) -> None:
    decision = decide(operating(CommandRule.of(["make"])), SHELL, {"argv": ["make"], **call})
    assert decision.allowed is (because == "")
    if because:
        assert decision.asks
        assert decision.reason.endswith(f"asks the owner of this device first, because {because}")


def test_a_question_names_the_inbox_where_its_answer_is_taken_from_there() -> None:
    here, call = operating(CommandRule.of(["make"])), {"argv": ["make"], "cwd": "/d"}
    asked = decide(replace(here, answers=ANSWERS_HUB), SHELL, call)
    assert "the owner of this device, or a person in the Inbox of the hub, first" in asked.reason
    assert "Inbox" not in decide(here, SHELL, call).reason


@pytest.mark.parametrize(
    ("cwd", "asks"),
    [("/d/p", False), ("p", False), ("/d/p/", False), ("", True), ("/d", True), ("/d/p/q", True), ("/d/q/../p", True)],
)
def test_a_rule_with_a_folder_runs_there_and_nowhere_else(cwd: str, asks: bool) -> None:
    policy = operating(CommandRule.of(["make"], cwd="/d/p"))
    decision = decide(policy, SHELL, {"argv": ["make"], "cwd": cwd})
    assert (decision.allowed, decision.asks) == (not asks, asks)
    if asks:
        assert "the rule names /d/p" in decision.reason


@given(
    cwd=st.sampled_from(["", "/d", "/d/p", "/d/p/x", "p", "~", "..", "/d/p/.."]),
    stdin=st.sampled_from(["", "id"]),
    env=st.sampled_from([{}, {"MY_TOKEN": "x"}]),
    named=st.sampled_from(["", "/d/p"]),
    harmless=st.booleans(),
)
def test_no_call_is_unasked_but_the_one_that_was_typed(
    cwd: str, stdin: str, env: dict[str, str], named: str, harmless: bool
) -> None:
    rule = CommandRule.of(["make"], effects=["read"] if harmless else [], cwd=named)
    call = {"argv": ["make"], "cwd": cwd, "env": env, "stdin": stdin}
    typed = not stdin and not env and (cwd if cwd != "p" else "/d/p") == named
    assert decide(operating(rule), SHELL, call).allowed is typed


def test_a_rule_keeps_its_folder_in_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "p"
    folder.mkdir(parents=True)
    policy = with_grant(Policy(), "files:write", [str(tmp_path / "docs")])
    policy = with_grant(policy, "shell:run", ["make"], cwd=str(folder))
    policy = with_grant(policy, "shell:run", ["make"])
    assert [rule.cwd for rule in policy_of(policy.plain()).commands] == [str(folder), ""]
    assert policy_of(tomllib.loads(to_toml(policy))) == policy
    assert written_beside(policy, str(folder)) == str(tmp_path / "docs")
    assert written_beside(policy, "/nowhere") == ""
    with pytest.raises(PolicyFault, match="in no folder that requests may read"):
        with_grant(policy, "shell:run", ["make"], cwd=str(tmp_path))
    with pytest.raises(PolicyFault, match="belongs to a command"):
        with_grant(policy, "files:read", [str(folder)], cwd=str(folder))


@pytest.mark.parametrize("before", [True, False])
def test_the_command_line_takes_a_folder_on_either_side(
    tmp_path: Path, before: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    home, folder = tmp_path / "home", tmp_path / "docs"
    folder.mkdir()
    at = ["--home", str(home)]
    assert main(["grant", *at, "files:write", str(folder)]) == 0
    where = ["--cwd", str(folder)]
    words = [*where, "shell:run"] if before else ["shell:run", *where]
    assert main(["grant", *at, *words, "--", "make", "-k"]) == 0
    (rule,) = read_policy(home / "policy.toml").commands
    assert (rule.plain(), rule.cwd) == (["make", "-k"], str(folder))
    assert "so it chooses what this command finds" in "".join(capsys.readouterr())
    assert main(["ungrant", *at, "shell:run", "--", "make", "-k"]) == 0
    assert read_policy(home / "policy.toml").commands == ()


def test_the_offer_tells_the_effects_of_commands_that_were_typed_whole(tmp_path: Path) -> None:
    rules = (
        CommandRule.of(["df", "-h"], effects=["read"]),
        CommandRule.of(["df", {"word": "-[a-z]+"}], effects=["read"]),
        CommandRule.of(["make"], effects=["read"], cwd="/srv"),
        CommandRule.of(["uptime"]),
    )
    policy = Policy(profile=Profile.OPERATE, commands=rules)
    made = make_offer(all_tools(), policy, slots=1, folder=tmp_path).offer
    (run,) = [tool for tool in made.tools if tool.name == "shell.run"]
    assert run.effects_by == {"argv": {list_key(["df", "-h"]): [Effect.READ]}}
    assert Effect.DESTROY in run.effects


def test_an_edited_file_is_told_in_the_offer_until_it_is_accepted(tmp_path: Path) -> None:
    home = AgentHome.at(str(tmp_path))
    allowance = Allowance(home, (), NOT_TRIED, slots=1, say=lambda _text: None)
    allowance.read_again()
    assert "policy" not in allowance.offer().offer.facts
    home.policy.write_text('profile = "observe"\n')
    home.policy.chmod(0o600)
    assert allowance.read_again()
    assert allowance.offer().offer.facts["policy"] == POLICY_NOT_IN_FORCE
    accept_policy(home.policy)
    assert allowance.read_again()
    assert "policy" not in allowance.offer().offer.facts
