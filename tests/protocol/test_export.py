"""Generated files are fresh; the command says what is stale; the emitter knows every kind of type."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
from msgspec import inspect

from starloom_protocol import export
from starloom_protocol.records import entities
from starloom_protocol.text.field_docs import field_docs

ROOT = Path(__file__).parents[2]


def test_generated_files_are_fresh() -> None:
    assert export.stale(ROOT) == []


def test_write_and_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export.main(["--check", "--root", str(tmp_path)]) == 1
    assert "stale" in capsys.readouterr().err
    assert export.main(["--root", str(tmp_path)]) == 0
    assert "wrote" in capsys.readouterr().out
    assert export.main(["--check", "--root", str(tmp_path)]) == 0
    (tmp_path / export.TYPESCRIPT).write_text("edited", encoding="utf-8")
    assert export.stale(tmp_path) == [export.TYPESCRIPT]
    assert export.write(tmp_path) == [export.TYPESCRIPT]


def test_the_module_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["export", "--root", str(tmp_path)])
    monkeypatch.delitem(sys.modules, "starloom_protocol.export")
    with pytest.raises(SystemExit) as caught:
        runpy.run_module("starloom_protocol.export", run_name="__main__")
    assert caught.value.code == 0


def test_typescript_has_every_name_once() -> None:
    text = export.typescript()
    names = [line.split()[2].rstrip(":") for line in text.splitlines() if line.startswith("export ")]
    assert len(names) == len(set(names))
    assert {item.__name__ for item in [*export.structs(), *export.enums()]} <= set(names)
    assert '  t: "dispatch";' in text
    assert "  value?: string | null;" in text


def test_the_browser_agent_has_the_frames_alone() -> None:
    text = export.tab_typescript()
    assert {"AgentFrame", "HubFrame", "ReportFrame", "Dispatch", "LeaseRef", "Code", "SESSION_TABLE"} <= _exported(text)
    assert not {"Entity", "TaskSpec", "EventKind", "LiveFrame", "PRESENTATION"} & _exported(text)
    assert _exported(text) < _exported(export.typescript())


def _exported(text: str) -> set[str]:
    return {line.split()[2].rstrip(":") for line in text.splitlines() if line.startswith("export ")}


def test_json_schema_refers_only_to_what_it_defines() -> None:
    schema = export.json_schema()
    text = json.dumps(schema)
    wanted = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert wanted <= set(schema["$defs"])
    assert {"TaskSpec", "Dispatch", "Event", "AddTask"} <= set(schema["$defs"])


def test_types_of_typescript() -> None:
    assert export._type(inspect.type_info(list[int | None])) == "(number | null)[]"
    assert export._type(inspect.type_info(dict[str, list[float]])) == "Record<string, number[]>"
    with pytest.raises(TypeError, match="teach it"):
        export._type(inspect.type_info(set[int]))


def test_the_words_of_a_field_stand_above_it_on_the_page() -> None:
    assert field_docs(entities.Job)["calls"] == "The number of calls of a model that it made."
    assert "  /** The number of calls of a model that it made. */\n  calls?: number;\n" in export.typescript()
    calls = export.json_schema()["$defs"]["Job"]["properties"]["calls"]
    assert calls == {"default": 0, "description": "The number of calls of a model that it made.", "type": "integer"}
