"""How tests are shared out among the workers of pytest-xdist: what is one worker's, and who takes what first."""

from __future__ import annotations

import os
from typing import Any

from xdist.scheduler import LoadFileScheduling

from tests.tiers import WAITING

SHARED_FOLDERS = ("tests/e2e", "tests/recipes")
"""Folders with one installation for all of their tests: one worker runs them."""

BESIDE_E2E = frozenset(
    f"test_{name}.py" for name in ("drawn_plan", "joining", "lab", "large_plans", "offline", "sizes", "tab", "walk")
)
"""Files of the browser that have an installation of their own, on another worker: about half of the folder's time."""


class ByFolder(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives a file to one worker, as what it starts serves all of its tests, and a shared folder, too.

    Tests of real processes wait for most of their time, others compute. Where there are more workers than processors,
    one of them takes what computes first, so that both kinds run beside each other from the first minute to the last.

    Groups by mark would say the same, but pytest-xdist 3.8 does not hold them with pytest 9.2 (its issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        folder = "/".join(nodeid.split("/")[:2])
        if folder not in SHARED_FOLDERS:
            return str(super()._split_scope(nodeid))
        file = nodeid.partition("::")[0].rpartition("/")[2]
        return f"{folder} beside" if file in BESIDE_E2E else folder

    def _assign_work_unit(self, node: Any) -> None:
        if self.numnodes > (os.cpu_count() or 1) and node is self.nodes[-1]:
            computes = next((scope for scope in self.workqueue if not _waits(scope)), None)
            if computes is not None:
                self.workqueue.move_to_end(computes, last=False)
        super()._assign_work_unit(node)


def _waits(scope: str) -> bool:
    parts = scope.partition(" ")[0].split("/")
    return len(parts) > 1 and parts[1] in WAITING
