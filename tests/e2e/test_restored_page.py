"""A page that is open while its hub is restored from a backup shows what the hub has now, without a reload by hand."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from starloom.client.routes import post_sign_in_links
from tests.installation import Installation
from tests.waiting import SLOWER

pytestmark = pytest.mark.e2e
BOUND_S = 120 * SLOWER
BACK_MS = 30_000 * SLOWER


@pytest.fixture
def hub() -> Iterator[Installation]:
    # Not pytest's own folder: the path of a Unix socket must be short.
    home = Path(tempfile.mkdtemp(prefix="sl-e2e-"))
    made = Installation(home)
    made.up("--no-agent")
    yield made
    made.close()
    shutil.rmtree(home, ignore_errors=True)


def starloom(hub: Installation, *arguments: str) -> None:
    argv = [sys.executable, "-m", "starloom.cli", *arguments, "--home", str(hub.home)]
    subprocess.run(argv, check=True, capture_output=True, timeout=BOUND_S)


def held(hub: Installation, name: str) -> str:
    plan = {"starloom": 1, "name": name, "tasks": [{"id": "a", "tool": "system.info"}]}
    return str(hub.client.post("/constellations", {"plan": plan, "hold": True})["id"])


def test_an_open_page_starts_over_after_a_restore(hub: Installation, browser: Browser, tmp_path: Path) -> None:
    held(hub, "before the backup")
    archive = tmp_path / "night.starloom"
    page = browser.new_page(base_url=f"http://127.0.0.1:{hub.port}")
    page.goto(str(hub.client.create(post_sign_in_links(), {})["url"]))
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    starloom(hub, "backup", str(archive))
    lost = held(hub, "after the backup")
    page.goto(f"/constellations/{lost}?lens=list")
    expect(page.get_by_role("heading", name="after the backup")).to_be_visible()
    hub.close()
    starloom(hub, "restore", str(archive), "--replace")
    hub.up("--no-agent")
    expect(page.get_by_role("heading", name="after the backup")).to_have_count(0, timeout=BACK_MS)
    expect(page.locator(".linkpill")).to_have_text("Live", timeout=BACK_MS)
    page.get_by_role("link", name="Home", exact=True).first.click()
    expect(page.get_by_text("before the backup").first).to_be_visible()
    expect(page.get_by_text("after the backup")).to_have_count(0)
    page.close()
