"""T221: no command of a hub keeps an agent busy with a pattern of its owner."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_agent.policy.commands import CommandRule, PolicyFault
from starloom_agent.policy.policy import Policy, decide
from starloom_agent.policy.word_patterns import LOOKS_MOST
from starloom_agent.work.registry import all_tools
from starloom_protocol.vocabulary import Profile

PAIRS = {
    "([a-z]+)+": "a" * 60 + "!",
    "(a|a|b)*c": "a" * 5_000,
    "(.*,){11}P": ",".join("1" * 3 for _ in range(200)),
    "(x?){60}x{60}": "x" * 60,
    "([a-z.-]+(/?[a-z.-]+)*)*": "ab" * 2_000 + "!",
}
"""Patterns that an owner may write, each with a word for which `re` takes longer than anybody waits."""
SHELL = next(tool for tool in all_tools() if tool.name == "shell.run")


def allows(pattern: dict[str, str], *words: str) -> bool:
    rule = CommandRule.of(["echo", pattern], effects=["read"])
    policy = Policy(profile=Profile.OPERATE, commands=(rule,))
    return decide(policy, SHELL, {"argv": ["echo", *words]}).allowed


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["word", "rest"])
@pytest.mark.parametrize("pattern", PAIRS)
def test_t221_a_word_that_almost_fits_is_decided_at_once(pattern: str, kind: str) -> None:
    assert allows({kind: pattern}, PAIRS[pattern]) is (pattern == "(x?){60}x{60}")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("words", [("a" * LOOKS_MOST,), ("a" * 10,) * (LOOKS_MOST // 10), ("",) * (LOOKS_MOST // 5)])
def test_t221_a_command_beyond_the_bound_fits_no_pattern(words: tuple[str, ...]) -> None:
    assert not allows({"rest": "[a-z]*"}, *words)


@pytest.mark.parametrize("pattern", [r"(a*)\1", "(?!b)[a-z]+", "(?<=a)b*", "(?s:.)*", "a++", "((a{100}){100}){100}"])
def test_t221_a_pattern_that_has_no_bound_is_refused(pattern: str) -> None:
    with pytest.raises(PolicyFault, match="which no command rule may have"):
        CommandRule.of(["echo", {"word": pattern}])


@pytest.mark.parametrize(
    ("pattern", "fits", "not_fits"),
    [
        ("[a-z-]+", ["nginx", "a-b"], ["", "-x", "A"]),
        (".*", ["", "all sorts"], ["two\nlines"]),
        ("(?s).*", ["", "two\nlines"], ["-x"]),
        (r"(\d{1,3}\.){3}\d{1,3}", ["10.0.0.1"], ["10.0.0", "1000.0.0.1"]),
        ("(?i)on|off", ["ON", "off"], ["offer", ""]),
        (r"^/srv/(?:www|db)/[^/]+?\.(?P<end>log|txt)$", ["/srv/www/a.log"], ["/srv/www/a/b.log", "x/srv/db/a.txt"]),
        ("-{1,2}[a-z]{2,}", ["-ab", "--abc"], ["---ab", "--a"]),
        (r"[]\]a^-]*\x41{0}b{,2}", ["]^-a", "bb"], ["A", "bbb"]),
    ],
)
def test_t221_patterns_mean_what_they_meant(pattern: str, fits: list[Any], not_fits: list[Any]) -> None:
    assert [word for word in (*fits, *not_fits) if allows({"word": pattern}, word)] == fits
