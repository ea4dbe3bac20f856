"""The files that the owner of a device writes: one reader, with the same words for each of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from starloom_agent.owner.agents import AgentsFault, read_agents
from starloom_agent.owner.mcp import McpFault, read_servers
from starloom_agent.policy.commands import PolicyFault
from starloom_agent.policy.file import read_policy

READERS: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "policy.toml": (read_policy, PolicyFault),
    "mcp.toml": (read_servers, McpFault),
    "agents.toml": (lambda path: read_agents(path.parent), AgentsFault),
}


@pytest.fixture(params=READERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def refused(path: Path) -> str:
    read, fault = READERS[path.name]
    with pytest.raises(fault) as caught:
        read(path)
    return str(caught.value)


def test_a_file_that_is_not_there_says_nothing(path: Path) -> None:
    READERS[path.name][0](path)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_used(path: Path, mode: int) -> None:
    path.write_text("", encoding="utf-8")
    path.chmod(mode)
    assert refused(path) == f"{path} may be written by others; type: chmod 600 {path}"


@pytest.mark.parametrize("data", [b"a = ", b"a = '\xff'"])
def test_a_file_that_is_not_toml_says_where(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)
    if path.name != "policy.toml":  # whose seal is judged first
        assert refused(path).startswith(f"{path} is not TOML: ")


def test_a_pipe_in_place_of_a_file_waits_for_nobody(path: Path) -> None:
    os.mkfifo(path, 0o600)
    assert refused(path) == f"{path} cannot be read: it is not a regular file"


def test_a_folder_in_place_of_a_file_is_refused(path: Path) -> None:
    path.mkdir(0o700)
    assert refused(path) == f"{path} cannot be read: it is not a regular file"


def test_a_file_beyond_every_size_is_refused_without_being_read(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)
    path.chmod(0o600)
    assert "is larger than" in refused(path)
