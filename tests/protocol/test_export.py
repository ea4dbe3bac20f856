"""Generated files are fresh; the command says what is stale; the emitter knows every kind of type."""

from __future__ import annotations

import json
import runpy
import sys
from itertools import product
from pathlib import Path

import pytest
from msgspec import inspect

from starloom_protocol import vocabulary
from starloom_protocol.export import __main__ as export
from starloom_protocol.export import schemas, typescript
from starloom_protocol.records import entities
from starloom_protocol.text import presentation
from starloom_protocol.text.field_docs import field_docs

ROOT = Path(__file__).parents[2]


def test_generated_files_are_fresh() -> None:
    assert [path.name for path in export.stale(ROOT)] == [], "stale; run `make gen`"


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
    monkeypatch.delitem(sys.modules, "starloom_protocol.export.__main__")
    with pytest.raises(SystemExit) as caught:
        runpy.run_module("starloom_protocol.export", run_name="__main__")
    assert caught.value.code == 0


def test_the_page_has_each_name_that_it_imports_once() -> None:
    text = typescript.typescript(ROOT, export.TYPESCRIPT)
    names = [line.split()[2].rstrip(":") for line in text.splitlines() if line.startswith("export ")]
    assert len(names) == len(set(names))
    assert {"TaskSpec", "Selector", "Code", "CODES", "CONTROLS"} <= typescript.imported(ROOT / export.TYPESCRIPT)
    assert typescript.imported(ROOT / export.TYPESCRIPT) <= set(names)
    assert "  value?: string | null;" in text


def test_a_page_has_what_it_imports_and_what_that_is_made_of(tmp_path: Path) -> None:
    place = Path("page/src/generated/protocol.ts")
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / "page/src/a.ts").write_text('import type { LeaseRef } from "./generated/protocol.ts";')
    (tmp_path / "page/src/b.tsx").write_text('import {\n  CODES,\n  type Renew,\n} from "./generated/protocol.ts";')
    (tmp_path / "page/src/c.ts").write_text('import type { Dispatch } from "./other.ts";')
    text = typescript.typescript(tmp_path, place)
    assert _exported(text) == {"Code", "CodeClass", "CodeInfo", "CODES", "LeaseRef", "Renew"}
    assert '  t: "renew";' in text


def test_the_browser_agent_has_the_frames_alone() -> None:
    text = typescript.typescript(ROOT, export.TAB / "protocol.ts")
    assert {"AgentFrame", "HubFrame", "ReportFrame", "Dispatch", "LeaseRef", "Code", "SESSION_TABLE"} <= _exported(text)
    assert not {"Entity", "TaskSpec", "EventKind", "LiveFrame", "PRESENTATION"} & _exported(text)


def test_the_rows_of_presentation_say_how_every_state_is_shown() -> None:
    """What a row leaves out is read as the page reads it: without the check, then without the reason."""
    rows = {(row["state"], row["reason"], row["checked"]): row for row in typescript.presentation_rows()}
    for state, reason, checked in product(vocabulary.TaskState, [None, *vocabulary.Reason], (False, True)):
        keys = ((state, reason, checked), (state, reason, False), (state, None, checked), (state, None, False))
        row = next(rows[key] for key in keys if key in rows)
        shown = presentation.presentation(state, reason, checked=checked)
        assert (row["word"], row["glyph"], row["tone"]) == (shown.word, shown.glyph, shown.tone)


def _exported(text: str) -> set[str]:
    return {line.split()[2].rstrip(":") for line in text.splitlines() if line.startswith("export ")}


def test_json_schema_refers_only_to_what_it_defines() -> None:
    schema = schemas.json_schema()
    text = json.dumps(schema)
    wanted = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert wanted <= set(schema["$defs"])
    assert {"TaskSpec", "Dispatch", "Event", "AddTask"} <= set(schema["$defs"])


def test_types_of_typescript() -> None:
    assert typescript._type(inspect.type_info(list[int | None])) == "(number | null)[]"
    assert typescript._type(inspect.type_info(dict[str, list[float]])) == "Record<string, number[]>"
    with pytest.raises(TypeError, match="teach it"):
        typescript._type(inspect.type_info(set[int]))


def test_the_words_of_a_field_stand_above_it_on_the_page() -> None:
    assert field_docs(entities.Job)["calls"] == "The number of calls of a model that it made."
    text = typescript.typescript(ROOT, export.TYPESCRIPT)
    assert "  /** The number of calls of a model that it made. */\n  calls?: number;\n" in text
    calls = schemas.json_schema()["$defs"]["Job"]["properties"]["calls"]
    assert calls == {"default": 0, "description": "The number of calls of a model that it made.", "type": "integer"}
