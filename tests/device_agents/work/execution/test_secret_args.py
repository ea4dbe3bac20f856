"""Where secrets stand in a call: only where the tool takes them, shown as names, filled in for the tool alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import pytest

from starloom_agent.toolkit.interface import Sent, ToolContext, ToolFailed, takes_secrets
from starloom_agent.toolkit.results import Stored
from starloom_agent.work import registry
from starloom_agent.work.execution.secret_args import filled_args, misplaced, name_of, shown_args
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code

SECRETS = {"key#ab": "hunter22"}
NODE = {"secret": "key#ab"}
TOOLS = {tool.name: tool for tool in registry.all_tools()}


def test_nodes_are_shown_by_name_and_filled_for_the_tool() -> None:
    text = canonical({"env": {"A_TOKEN": NODE}, "list": [NODE, {"secret": "other"}], "n": 1})
    assert shown_args(text, SECRETS)["env"] == {"A_TOKEN": "secret:key"}
    filled = {"env": {"A_TOKEN": "hunter22"}, "list": ["hunter22", {"secret": "other"}], "n": 1}
    assert filled_args(text, SECRETS) == filled
    assert shown_args(text, {})["env"] == {"A_TOKEN": NODE}
    assert filled_args(text, {})["list"][0] == NODE
    assert name_of("key#ab") == name_of("key") == "key"


@pytest.mark.parametrize(
    ("tool", "args", "wrong"),
    [
        ("shell.run", {"argv": ["mysql", NODE]}, "argv"),
        ("shell.run", {"argv": ["mysql"], "env": {"MYSQL_PWD": NODE}, "stdin": NODE}, None),
        ("python.run", {"code": "", "input": {"deep": [NODE]}}, "input"),
        ("python.run", {"code": "", "env": {"A_TOKEN": NODE}}, None),
        ("http.request", {"url": NODE}, "url"),
        ("http.request", {"url": "https://a", "headers": {"Authorization": NODE}, "json": {"k": NODE}}, None),
        ("fs.write", {"path": NODE}, "path"),
    ],
)
def test_a_secret_stands_only_where_a_tool_takes_one(tool: str, args: dict[str, Any], wrong: str | None) -> None:
    found = misplaced(TOOLS[tool], canonical(args), SECRETS)
    assert (found is None) == (wrong is None)
    if found is not None:
        assert f"`{wrong}` (key)" in found
        assert "hunter22" not in found


def test_no_tool_takes_one_in_what_becomes_a_command_line_a_path_or_an_address() -> None:
    never = {"argv", "path", "url", "host", "cwd", "code", "name", "folder"}
    for tool in TOOLS.values():
        assert not takes_secrets(tool.args) & never, tool.name


class _Sent:
    def __init__(self) -> None:
        self.names: list[str] = []

    def fetch(self, sha256: str, into: Path) -> Path:
        raise AssertionError(sha256, into)

    def put(self, file: BinaryIO, *, name: str, media: str, sent: Sent | None = None) -> Stored:
        self.names.append(name)
        return {"artifact": str(file), "bytes": 0, "name": name, "media": media}

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None:
        raise AssertionError(note)

    def log(self, text: str) -> None:
        raise AssertionError(text)


def test_a_file_that_holds_one_is_not_sent_and_a_name_that_does_is_cleaned(tmp_path: Path) -> None:
    port = _Sent()
    context = ToolContext(tmp_path, port, port, secrets=SECRETS)
    (tmp_path / "bad").write_bytes(b"\0" * (1 << 20) + b"hunter22"[:4])
    with (tmp_path / "bad").open("ab") as file:
        file.write(b"er22 and more")
    with pytest.raises(ToolFailed) as failed:
        context.put(tmp_path / "bad")
    assert (failed.value.code, port.names) == (Code.SECRET_IN_FILE, [])
    good = tmp_path / "hunter22.txt"
    good.write_text("nothing")
    assert context.put(good)["name"] == "***.txt"
