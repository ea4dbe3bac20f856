"""The names of files that lie in one folder for a program: none lies over another one on any disk."""

from __future__ import annotations

import unicodedata

import pytest

from starloom_agent.toolkit.beneath import folded
from starloom_agent.toolkit.files.laying_out import names_of
from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.refs import FileRef

CAFE = "Caf\u00e9.txt"


@pytest.mark.parametrize("other", [unicodedata.normalize("NFD", CAFE), "CAF\u00c9.TXT", "CAFE\u0301.txt"])
def test_one_name_in_two_forms_gets_its_origin(other: str) -> None:
    files = [
        FileRef(artifact="a" * 64, name=CAFE, device="laptop"),
        FileRef(artifact="b" * 64, name=other, device="mac"),
    ]
    names = names_of(files, ())
    assert len({folded(name) for name in names}) == 2
    assert [name.partition(" - ")[0] for name in names] == ["laptop", "mac"]


def test_a_reserved_name_is_refused_in_any_case() -> None:
    with pytest.raises(ToolFailed, match="may not be named"):
        names_of([FileRef(artifact="a" * 64, name="Program.PY")], ("program.py",))
