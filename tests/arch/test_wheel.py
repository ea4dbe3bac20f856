"""The hub's wheel carries what a checkout has beside the package: recipes, join.py, the agent and the built pages."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


DISTRIBUTIONS = {"protocol": "starloom_protocol", "device_agents": "starloom_agent", "backend": "starloom"}


def checkout(folder: Path, *, built: bool) -> Path:
    """Return the backend of a checkout that holds one file of each kind."""
    for place, package in DISTRIBUTIONS.items():
        (folder / place / package).mkdir(parents=True)
        (folder / place / package / "__init__.py").write_text('"""A package."""\n')
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / place / name, folder / place / name)
    backend = folder / "backend"
    shutil.copy(ROOT / "backend" / "hatch_build.py", backend)
    files = ["recipes/one.yaml", "device_agents/join.py", "device_agents/requirements.lock"]
    if built:
        files += ["frontend/dist/index.html", "device_agents/browser/dist/index.html"]
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return backend


def names(backend: Path, target: Path) -> set[str]:
    (wheel,) = WheelBuilder(str(backend)).build(directory=str(target), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_pages_recipes_join_script_and_agent_are_in_the_wheel(tmp_path: Path) -> None:
    found = names(checkout(tmp_path, built=True), tmp_path / "out")
    wanted = {"_web/index.html", "_tab/index.html", "_recipes/one.yaml", "_agent/join.py", "_agent/requirements.lock"}
    assert {f"starloom/{name}" for name in wanted} <= found
    handed_out = {name.rpartition("/")[2].partition("-")[0] for name in found if "/_agent/wheels/" in name}
    assert handed_out == {"starloom_protocol", "starloom_agent"}


def test_a_checkout_whose_pages_are_not_built_makes_a_wheel_without_them(tmp_path: Path) -> None:
    found = names(checkout(tmp_path, built=False), tmp_path / "out")
    assert "starloom/_recipes/one.yaml" in found
    assert not [name for name in found if "_web" in name or "_tab" in name]
