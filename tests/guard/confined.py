"""One call of a file tool as an agent runs it: in a process of its own that Landlock or the cage holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starloom_agent.toolkit.messages import CallSpec, Ended
from starloom_agent.work import registry
from tests.device_agents.played_call import Call, Loop
from tests.device_agents.sandbox.tried import SANDBOX
from tests.device_agents.wire.test_artifacts import KEY, Store, handler
from tests.guard.links import Place
from tests.served import Served

TOOLS = {tool.name: tool for tool in registry.all_tools()}


@contextmanager
def storing(place: Place) -> Iterator[tuple[Store, Path]]:
    """Serve the artifacts that a call puts and gets; yield them, and the file that tells a call where they are."""
    store = Store()
    for kept in place.device.store.folder.iterdir():
        store.whole[kept.name] = kept.read_bytes()
    (place.outside.parent / "run").mkdir()
    connection = place.outside.parent / "run/connection.json"
    with Served(handler(store)) as served:
        connection.write_text(json.dumps({"hub": served.url, "key": KEY.hex(), "token": "t1"}))
        yield store, connection


def as_a_device(loop: Loop, place: Place, connection: Path, tool: str, args: dict[str, Any], **more: Any) -> Ended:
    """Run one call as an agent does."""
    work = place.outside.parent / "work"
    shutil.rmtree(work, ignore_errors=True)
    spec = CallSpec(
        args=json.dumps(args),
        cage=str(SANDBOX.layer or "") if TOOLS[tool].caged else "none",
        confined=TOOLS[tool].confined,
        connection_file=str(connection),
        effectless=False,
        fence="1.2",
        module=registry.module_of()[tool],
        # A granted folder that lies in another one is exchanged as well.
        read=[str(place.docs), str(place.docs / "inner")],
        reads=list(TOOLS[tool].reads),
        start_to_close_s=20.0,
        tool=tool,
        workdir=str(work),
        write=[str(place.docs)],
        **more,
    )
    call = Call(loop, spec)
    try:
        return call.end()
    finally:
        call.close()
