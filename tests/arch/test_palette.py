"""The palette holds for eyes that see colours differently: done, failed and running stay apart, words can be read.

Reads the tokens of the page themselves. Bounds: a dE2000 of 20 under each simulated deficiency, a
contrast of 4.5 for text and 3 for glyphs, in both themes.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from coloraide.everything import ColorAll as Color

TOKENS = Path(__file__).parents[2] / "frontend" / "src" / "styles" / "tokens.css"
PAIR = re.compile(r"--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
THEMES = ("light", "dark")
EYES = ("deutan", "protan", "tritan")
STATES = {"done": "teal", "failed": "vermilion", "running": "blue"}
TONES = ("grey", "indigo", "violet", "amber", "blue", "teal", "vermilion")
INKS = ("ink", "ink-2", "ink-3")
GROUNDS = ("bg", "canvas", "surface", "sunken")
APART = 20
TEXT = 4.5
GLYPH = 3.0


def palette(theme: str) -> dict[str, Color]:
    found = {name: pair[THEMES.index(theme)] for name, *pair in PAIR.findall(TOKENS.read_text())}
    return {name: Color(value) for name, value in found.items()}


@pytest.mark.parametrize("theme", THEMES)
def test_every_colour_that_is_judged_here_is_a_token(theme: str) -> None:
    assert {*TONES, *INKS, *GROUNDS, "accent", "on-accent", "knock"} <= set(palette(theme))


@pytest.mark.parametrize("eyes", ["trichromat", *EYES])
@pytest.mark.parametrize("theme", THEMES)
def test_done_failed_and_running_stay_apart(theme: str, eyes: str) -> None:
    tokens = palette(theme)
    seen = {
        state: tokens[tone] if eyes == "trichromat" else tokens[tone].filter(eyes) for state, tone in STATES.items()
    }
    near = {
        f"{one} and {other}": round(seen[one].delta_e(seen[other], method="2000"), 1)
        for one, other in combinations(seen, 2)
        if seen[one].delta_e(seen[other], method="2000") < APART
    }
    assert not near


@pytest.mark.parametrize("theme", THEMES)
def test_words_can_be_read_on_every_ground(theme: str) -> None:
    tokens = palette(theme)
    pairs = [(ink, ground) for ink in (*INKS, "accent") for ground in GROUNDS]
    pairs += [(tone, f"{tone}-tint") for tone in TONES]
    pairs += [("on-accent", "accent")]
    faint = {pair: round(tokens[pair[0]].contrast(tokens[pair[1]]), 2) for pair in pairs}
    assert {pair: found for pair, found in faint.items() if found < TEXT} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_glyphs_stand_out_where_they_are_drawn(theme: str) -> None:
    tokens = palette(theme)
    faint = {(tone, ground): round(tokens[tone].contrast(tokens[ground]), 2) for tone in TONES for ground in GROUNDS}
    faint |= {("knock", tone): round(tokens["knock"].contrast(tokens[tone]), 2) for tone in TONES}
    assert {pair: found for pair, found in faint.items() if found < GLYPH} == {}
