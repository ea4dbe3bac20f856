"""The truth: which three documents are the newest."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    folder = ground.files("desk") / "Documents"
    newest = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[-3:]
    return {"newest": sorted(f"Documents/{path.name}" for path in newest)}
