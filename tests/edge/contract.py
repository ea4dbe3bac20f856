"""The contract of the REST API: the OpenAPI document of a hub with its lab, as a file that clients are generated from.

`python -m tests.edge.contract` writes it; `make gen` makes the page's client from it. Owns no shape: the document is
made from the routes and their declared types.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.arch.checkout import ROOT
from tests.edge.world import a_world

CONTRACT = ROOT / "protocol/schema/openapi.json"


def contract() -> dict[str, Any]:
    """Return the document as the file has it."""
    read: dict[str, Any] = json.loads(CONTRACT.read_text(encoding="utf-8"))
    return read


def text_of(app: Any) -> str:
    """Return the document of an application as the file has it."""
    return json.dumps(app.openapi(), indent=1, sort_keys=True, ensure_ascii=True) + "\n"


async def _text() -> str:
    with tempfile.TemporaryDirectory() as folder:
        async with a_world(Path(folder), lab=True) as world:
            return text_of(world.app)


if __name__ == "__main__":
    CONTRACT.write_text(asyncio.run(_text()), encoding="utf-8")
