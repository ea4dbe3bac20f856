"""The libraries of a model: named without loading them, before a person waits for an answer."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from starloom.planner.model.endpoints.endpoint import endpoint_from
from starloom.planner.model.port import ModelFault
from starloom.planner.model.transport import connecting, wire
from starloom.planner.model.transport.connecting import (
    LIBRARIES,
    check_libraries,
    connect,
    missing_libraries,
    unusable,
)
from starloom_protocol.vocabulary import Code

SET = {"STARLOOM_LLM_URL": "http://127.0.0.1:9/v1", "STARLOOM_LLM_MODEL": "m"}


FORMATS = ("anthropic", "openai")


def libraries_of(module: ModuleType) -> set[str]:
    assert module.__file__
    loaded = set()
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        loaded |= {name.partition(".")[0] for name in names}
    ours = {"__future__", "asyncio", "collections", "dataclasses", "importlib", "typing"}
    ours |= {"starloom", "starloom_protocol"}
    return loaded - ours


def test_the_named_libraries_are_those_that_the_wire_and_its_formats_load() -> None:
    assert libraries_of(wire) == {"httpx2", "pydantic_ai"}
    formats = [libraries_of(import_module(f"starloom.planner.model.transport.{name}_wire")) for name in FORMATS]
    assert libraries_of(wire).union(*formats) == set(LIBRARIES)
    assert missing_libraries() is None


def test_an_endpoint_loads_the_library_of_its_own_format_alone(tmp_path: Path) -> None:
    looked = "import sys; from starloom.planner.model.transport.wire import format_of, Wire; format_of(Wire.OPENAI); "
    looked += f"print([name for name in {FORMATS} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", looked], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == "['openai']\n"


@pytest.mark.parametrize("wire_format", FORMATS)
def test_an_endpoint_whose_format_has_no_library_is_not_set(monkeypatch: pytest.MonkeyPatch, wire_format: str) -> None:
    endpoint = endpoint_from({**SET, "STARLOOM_LLM_WIRE": wire_format})
    assert endpoint is not None
    monkeypatch.delitem(sys.modules, f"starloom.planner.model.transport.{wire_format}_wire", raising=False)
    monkeypatch.setitem(sys.modules, wire_format, None)
    for ask in (connect, check_libraries):
        with pytest.raises(ModelFault, match=f"{wire_format} is missing") as fault:
            ask(endpoint)
        assert fault.value.fault.code == Code.MODEL_NOT_SET


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
