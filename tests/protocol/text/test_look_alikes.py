"""Names that a reader takes for another one."""

from __future__ import annotations

import pytest

from starloom_protocol.text.look_alikes import (
    called_fault,
    device_name_fault,
    look_of,
    person_name_fault,
    spelling_pattern,
    spellings_of,
)


@pytest.mark.parametrize("name", ["\u0430tlas", "atl\u0430s", "nas-\u0441loud", "\u03bfffice", "Z\u0585e"])
def test_a_word_of_several_alphabets_is_refused(name: str) -> None:
    assert "letters" in (device_name_fault(name, most=63) or "")


@pytest.mark.parametrize(
    "name",
    [
        "atlas",
        "B\u00fcro-Ger\u00e4t",
        "\u0441\u0435\u0440\u0432\u0435\u0440-2",
        "NAS \u0414\u043e\u043c",
        "\u4e16\u754c",
        "Kanzlei Dr. Wei\u00df",
        "St. P\u00f6lten Nr. 2",
    ],
)
def test_a_name_of_one_alphabet_a_word_is_taken(name: str) -> None:
    assert device_name_fault(name, most=63) is None


SENTENCES = [
    "nas. All is safe",
    "nas is gone! Type: starloom stop",
    "nas; approve it",
    "nas: done",
    "nas\u2026 done",
    "nas\u3002ok",
    "nas\uff1a done",
    "nas.",
    "nas Dr.",
    "Dr. Wei\u00df is gone. Approve it",
    "nasdr. All is safe",
]
UNSEEN = [
    " nas",
    "nas ",
    "nas  2",
    "nas\u00a02",
    "nas\u3000",
    "na\u3164s",
    "na\u2800s",
    "na\u034fs",
    "n\u200bas",
    "n\u2067as",
    "nas\nnext",
    "nas\u2028next",
]


@pytest.mark.parametrize("name", [*SENTENCES, *UNSEEN, 'nas" is safe, "pc', "<b>nas", "`nas`"])
def test_a_name_that_misleads_within_a_sentence_is_refused(name: str) -> None:
    assert device_name_fault(name, most=63)


@pytest.mark.parametrize("name", ["srv.example.org", "Ann's laptop (old)", "pc-10:30", "v1.2", "R&D #4", "a, b"])
def test_marks_within_a_name_are_taken(name: str) -> None:
    assert device_name_fault(name, most=63) is None


def test_other_faults_of_a_name_stay() -> None:
    assert device_name_fault("a\u202eb", most=63)
    assert device_name_fault("x" * 64, most=63)


@pytest.mark.parametrize(
    ("name", "other"), [("\u0430\u0441\u0435", "ace"), ("\uff41tlas", "atlas"), ("\u0421\u041e\u041c", "COM")]
)
def test_names_that_look_alike_have_one_look(name: str, other: str) -> None:
    assert look_of(name) == look_of(other) == other


@pytest.mark.parametrize(("name", "other"), [("nasl", "nas1"), ("AIan", "Alan"), ("pcO", "pc0"), ("\u0251nn", "ann")])
def test_signs_of_one_alphabet_that_are_taken_for_one_another(name: str, other: str) -> None:
    assert look_of(name) == look_of(other)
    assert look_of("nas1") != look_of("nas2")


def test_letters_of_a_look_alike_stand_for_one_letter_each() -> None:
    assert look_of("Gr\u00f6\u00dfe") == "Gr\u00f6\u00dfe"
    assert look_of("atlas") != look_of("Atlas")


@pytest.mark.parametrize(
    "name",
    [
        "ann",
        "Zo\u00eb",
        "J\u00fcrgen.Gro\u00df",
        "\u0410\u043d\u043d\u0430",
        "\u5c0f\u660e",
        "\u0930\u0935\u093f",
        "a@b.org",
    ],
)
def test_a_person_is_called_in_any_script(name: str) -> None:
    assert person_name_fault(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "-ann", "Ann B", "ann#1", "person:ann", "ann\u202e", "ann\u3164", "ann\ufe0f", "\u0410nn", "x" * 65, "a/b"],
)
def test_a_name_that_misleads_is_refused_for_a_person(name: str) -> None:
    assert person_name_fault(name)


def test_a_name_of_a_device_is_no_option_of_a_command_line() -> None:
    assert "option" in (called_fault("-rf", most=63) or "")
    assert called_fault("nas-rf", most=63) is None


SPELLED = ["B\u00fcro-PC (neu)", "b\u00fcro pc neu", "Buero-PC neu", "buro_pc_neu", "Bu\u0308ro-PC (neu)"]


@pytest.mark.parametrize("said", SPELLED)
def test_a_name_has_its_spellings_in_common_with_what_people_type(said: str) -> None:
    assert spellings_of(said) & spellings_of(SPELLED[0])
    assert not spellings_of(said) & spellings_of("B\u00fcro-PC (alt)")


@pytest.mark.parametrize("said", ["the buero pc (neu) is on", "to b\u00fcro-pc", "b\u00fcro pc neu, please"])
def test_a_name_is_found_in_words_as_it_is_spelled_there(said: str) -> None:
    assert spelling_pattern(SPELLED[0]).search(said)
    assert not spelling_pattern("ro-PC").search(said)


def test_a_path_is_no_spelling_of_a_name() -> None:
    assert not spellings_of("/nas") & spellings_of("nas")
