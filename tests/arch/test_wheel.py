"""The hub's wheel carries what a checkout has beside the package: recipes, join.py and the built pages."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


def checkout(folder: Path, *, built: bool) -> Path:
    """Return the backend of a checkout that holds one file of each kind."""
    backend = folder / "backend"
    (backend / "starloom").mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py"):
        shutil.copy(ROOT / "backend" / name, backend / name)
    (backend / "starloom" / "__init__.py").write_text('"""A package."""\n')
    files = ["recipes/one.yaml", "device_agents/join.py"]
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


def test_built_pages_recipes_and_the_joining_script_are_in_the_wheel(tmp_path: Path) -> None:
    found = names(checkout(tmp_path, built=True), tmp_path / "out")
    wanted = {"_web/index.html", "_tab/index.html", "_recipes/one.yaml", "_agent/join.py"}
    assert {f"starloom/{name}" for name in wanted} <= found


def test_a_checkout_whose_pages_are_not_built_makes_a_wheel_without_them(tmp_path: Path) -> None:
    found = names(checkout(tmp_path, built=False), tmp_path / "out")
    assert "starloom/_recipes/one.yaml" in found
    assert not [name for name in found if "_web" in name or "_tab" in name]
