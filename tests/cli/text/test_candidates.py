"""Words that nearly fit end with a command that can be typed, and what is missing in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starloom.cli.text.candidates import candidate_lines

if TYPE_CHECKING:
    from starloom_protocol.api.previews import RecipeCandidate


def test_the_command_has_what_the_words_filled_and_names_what_is_missing() -> None:
    candidate: RecipeCandidate = {
        "recipe": "collect-files",
        "title": "Collect files",
        "score": 900,
        "params": {"what": "my PDFs", "folder": "Downloads", "where": {"name": "nas"}, "keep": 3},
        "missing": [
            {"name": "target", "type": "device", "title": "Onto", "reason": "", "choices": ["laptop", "nas"]},
            {
                "name": "url",
                "type": "url",
                "title": "Address",
                "reason": "the toaster is not an address",
                "choices": [],
            },
        ],
        "trial": None,
    }
    assert candidate_lines(candidate) == [
        "Collect files",
        (
            "starloom submit -r collect-files -p 'what=my PDFs' -p folder=Downloads -p where=nas -p keep:=3"
            " -p target=... -p url=..."
        ),
        "  target: Onto (device) - one of laptop, nas",
        "  url: Address (url) - the toaster is not an address",
    ]


def test_many_choices_are_cut_and_several_devices_are_json() -> None:
    names = [f"box-{number}" for number in range(12)]
    candidate: RecipeCandidate = {
        "recipe": "x",
        "title": "X",
        "score": 900,
        "params": {"where": {"any": [{"name": "a"}]}},
        "missing": [{"name": "on", "type": "device", "title": "", "reason": "", "choices": names}],
        "trial": None,
    }
    _, command, needed = candidate_lines(candidate)
    assert '-p \'where:={"any": [{"name": "a"}]}\'' in command
    assert needed.endswith("box-7, ...")


def test_a_recipe_on_trial_says_how_far_it_is() -> None:
    candidate: RecipeCandidate = {
        "recipe": "x",
        "title": "X",
        "score": 1000,
        "params": {},
        "missing": [],
        "trial": {"clean": 1, "needed": 3, "last_at": "2026-11-26T18:00:00.000Z"},
    }
    assert candidate_lines(candidate)[-1] == (
        "  on trial: 1 of 3 clean runs in a row, the last on 2026-11-26T18:00:00.000Z"
    )


def test_the_words_that_a_recipe_does_not_use_are_named() -> None:
    candidate: RecipeCandidate = {
        "recipe": "photo-backup",
        "title": "Back up pictures",
        "score": 900,
        "params": {},
        "missing": [],
        "trial": None,
        "unused": ["June", "nightly"],
    }
    assert candidate_lines(candidate) == [
        "Back up pictures",
        "starloom submit -r photo-backup",
        "  it does not use: June and nightly",
    ]
