"""A confined tool process finds a relative path in every granted folder, and says where it looked for a missing one."""

from __future__ import annotations

import json
from pathlib import Path

from starloom_agent.toolkit.messages import CallSpec, Ended
from starloom_agent.work import registry
from starloom_protocol.vocabulary import Code, Outcome
from tests.device_agents.played_call import Call, Loop


def _listed(tmp_path: Path, path: str) -> Ended:
    for name in ("first", "second"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "second" / "Rechnungen").mkdir(exist_ok=True)
    spec = CallSpec(
        args=json.dumps({"path": path}),
        confined=True,
        connection_file=str(tmp_path / "connection.json"),
        effectless=True,
        fence="1.1",
        module=registry.module_of()["fs.list"],
        read=[str(tmp_path / "first"), str(tmp_path / "second")],
        start_to_close_s=30.0,
        tool="fs.list",
        workdir=str(tmp_path / "work"),
    )
    loop = Loop(warm=False)
    call = Call(loop, spec)
    try:
        return call.end()
    finally:
        call.close()
        loop.close()


def test_a_folder_of_the_second_granted_folder_is_listed(tmp_path: Path) -> None:
    ended = _listed(tmp_path, "Rechnungen")
    assert ended.outcome is Outcome.OK, ended


def test_a_missing_folder_is_told_with_the_granted_folders(tmp_path: Path) -> None:
    ended = _listed(tmp_path, "Nirgends")
    assert ended.code is Code.FILE_NOT_FOUND
    folders = f"{tmp_path / 'first'}, {tmp_path / 'second'}"
    assert ended.detail.endswith(f"looked for in the folders that this device allows: {folders}")
