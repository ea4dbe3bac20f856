"""The libraries of a model: named without loading them, before a person waits for an answer."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from starloom.planner.model.transport import connecting, wire
from starloom.planner.model.transport.connecting import LIBRARIES, missing_libraries, unusable
from starloom_protocol.vocabulary import Code

SET = {"STARLOOM_LLM_URL": "http://127.0.0.1:9/v1", "STARLOOM_LLM_MODEL": "m"}


def test_the_named_libraries_are_those_that_the_wire_loads() -> None:
    loaded = set()
    for node in ast.walk(ast.parse(Path(wire.__file__).read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        loaded |= {name.partition(".")[0] for name in names}
    ours = {"__future__", "asyncio", "collections", "dataclasses", "typing", "starloom", "starloom_protocol"}
    assert loaded - ours == set(LIBRARIES)
    assert missing_libraries() is None


def test_an_environment_without_the_extra_has_a_fault_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(connecting, "LIBRARIES", ("no_library_has_this_name",))
    fault = unusable(SET, tmp_path)
    assert fault is not None
    assert (fault.code, "no_library_has_this_name is missing" in fault.reason) == (Code.MODEL_NOT_SET, True)
    assert "-m pip install" in (fault.hint or "")
    assert unusable({}, tmp_path) is None
    assert unusable({"STARLOOM_LLM_URL": f"recorded:{tmp_path / 'calls.jsonl'}"}, tmp_path) is None


def test_settings_that_are_wrong_are_told_before_the_libraries(tmp_path: Path) -> None:
    fault = unusable({**SET, "STARLOOM_LLM_URL": "ftp://x"}, tmp_path)
    assert fault is not None
    assert "STARLOOM_LLM_URL must be" in fault.reason
