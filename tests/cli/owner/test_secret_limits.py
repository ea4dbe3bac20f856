"""`secret set`: the names of tools and recipes that limit who receives a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_commands import StubHub, starloom

SET = {"name": "key", "version": 1, "devices": [], "tools": [], "recipes": []}


@pytest.fixture
def stub(hub: StubHub) -> StubHub:
    hub.answers["GET", "/capabilities"] = (200, {"items": [{"tool": "fs.read"}, {"tool": "shell.run"}]})
    hub.answers["GET", "/recipes"] = (200, {"items": [{"name": "fleet-health"}]})
    hub.answers["PUT", "/secrets/key"] = (200, SET)
    return hub


@pytest.mark.parametrize(
    ("option", "name", "near"), [("--for-tool", "fs.raed", "fs.read"), ("--for-recipe", "fleet-helth", "fleet-health")]
)
def test_a_secret_for_a_misspelt_name_is_refused(
    stub: StubHub, tmp_path: Path, option: str, name: str, near: str
) -> None:
    value = tmp_path / "value"
    value.write_text("secret", encoding="utf-8")
    code, said = starloom(stub, "secret", "set", "key", "--from-file", str(value), option, name)
    assert (code, f"Did you mean {near}?" in said) == (2, True)
    assert [method for method, _, _ in stub.asked] == ["GET"]


@pytest.mark.parametrize("tool", ["fs.read", "mcp.notes.search"])
def test_a_secret_may_be_for_a_tool_that_comes_later(stub: StubHub, tmp_path: Path, tool: str) -> None:
    value = tmp_path / "value"
    value.write_text("secret", encoding="utf-8")
    assert starloom(stub, "secret", "set", "key", "--from-file", str(value), "--for-tool", tool)[0] == 0
    assert stub.asked[-1][2] == {"value": "secret", "tools": [tool]}


def test_a_token_that_may_not_read_the_fleet_sets_a_secret(stub: StubHub, tmp_path: Path) -> None:
    value = tmp_path / "value"
    value.write_text("secret", encoding="utf-8")
    stub.answers["GET", "/capabilities"] = (403, {"title": "No", "code": "forbidden"})
    assert starloom(stub, "secret", "set", "key", "--from-file", str(value), "--for-tool", "fs.raed")[0] == 0
