"""Puts beside the hub's package everything that an installation without a checkout serves.

That is the built pages, the built-in recipes, `join.py` and the wheels that joining devices install. A wheel is made
from a checkout, or from the source archive, which carries the same parts in `beside/`. An editable installation needs
none of it: it serves the parts from where they lie. Builds the agent's two wheels; builds no page.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.wheel import WheelBuilder

HERE = Path(__file__).parent
CHECKOUT = HERE.parent
BESIDE = HERE / "beside"
"""Where a source archive keeps the parts."""


class Part(NamedTuple):
    """One thing beside the package: its name in a source archive, its place in a checkout and in the wheel."""

    name: str
    in_checkout: str
    in_wheel: str
    required: bool


PARTS = (
    Part("recipes", "recipes", "starloom/_recipes", required=True),
    Part("join.py", "device_agents/join.py", "starloom/_agent/join.py", required=True),
    Part("requirements.lock", "device_agents/requirements.lock", "starloom/_agent/requirements.lock", required=True),
    Part("web", "frontend/dist", "starloom/_web", required=False),
    Part("tab", "device_agents/browser/dist", "starloom/_tab", required=False),
)
WHEELS = Part("wheels", "", "starloom/_agent/wheels", required=True)
WHEEL_SOURCES = ("protocol", "device_agents")
"""The distributions that a device installs, as folders of a checkout."""


class Beside(BuildHookInterface):  # type: ignore[type-arg, misc, unused-ignore]
    """Adds the parts to a wheel or to a source archive."""

    _built: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to include; hatchling calls this before each build.

        Raises:
            FileNotFoundError: a required part is neither in a checkout nor in the source archive.
        """
        if version == "editable":
            return
        for part in PARTS:
            source = BESIDE / part.name if BESIDE.is_dir() else CHECKOUT / part.in_checkout
            if source.exists():
                self._include(build_data, source, part)
            elif part.required:
                raise FileNotFoundError(f"{part.name} is missing: build from a whole checkout or a source archive")
            else:
                self.app.display_warning(
                    f"{part.in_checkout} is not built: this {self.target_name} has no {part.name} page"
                )
        self._include(build_data, self._wheels(), WHEELS)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the wheels that were built for this build alone."""
        if self._built is not None:
            self._built.cleanup()

    def _include(self, build_data: dict[str, Any], source: Path, part: Part) -> None:
        place = part.in_wheel if self.target_name == "wheel" else f"{BESIDE.name}/{part.name}"
        build_data["force_include"][str(source)] = place

    def _wheels(self) -> Path:
        if BESIDE.is_dir():
            return BESIDE / WHEELS.name
        self._built = tempfile.TemporaryDirectory(prefix="starloom-wheels-")
        folder = Path(self._built.name)
        for name in WHEEL_SOURCES:
            list(WheelBuilder(str(CHECKOUT / name)).build(directory=str(folder), versions=["standard"]))
        return folder
