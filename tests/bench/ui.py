"""`make bench-ui`: what the page of a large constellation costs a browser, by size, kind and whether it still runs.

Prints a table and one line of JSON. Nothing is asserted: a figure counts only with its machine (docs/benchmarks.md).
The elements of each page are held to their bound by `tests/e2e/test_large_plans.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Response, sync_playwright

from starloom.cli.problems import Problem
from tests.e2e.conftest import FLAGS
from tests.e2e.large import grouped, layered
from tests.e2e.stack import ENDED, Stack, running

SIZES = (200, 1_000, 5_000)
KINDS = {"layered": layered, "grouped": grouped}
MOVES_S = 2.0
TOGGLES = 20

_OBSERVE = """() => {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) window.longest = Math.max(window.longest, one.duration);
  }).observe({type: "longtask", buffered: true});
  const look = () => {
    const canvas = document.querySelector("canvas.overview");
    const drawn = document.querySelector(".taskrow, .react-flow__node") || canvas?.style.width;
    if (drawn) window.pictured = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
_FRAMES = """() => {
  window.frames_ = 0;
  window.framesFrom = performance.now();
  const count = () => { window.frames_ += 1; window.counting = requestAnimationFrame(count); };
  window.counting = requestAnimationFrame(count);
}"""
_FPS = """() => {
  cancelAnimationFrame(window.counting);
  return window.frames_ / ((performance.now() - window.framesFrom) / 1000);
}"""


def measure(page: Page, stack: Stack, constellation: str) -> dict[str, float]:
    """Open the page as a person would, then its graph; move and zoom it."""
    page.goto(f"/constellations/{constellation}")
    page.wait_for_function("() => window.pictured")
    first = page.evaluate("() => window.pictured")
    page.goto(f"/constellations/{constellation}?lens=graph")
    page.wait_for_function("() => window.pictured")
    page.wait_for_timeout(1_000)
    box = page.locator(".flow").bounding_box()
    assert box is not None, "the graph has no place"
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 3
    fps_pan = _rate(page, lambda step: page.mouse.wheel(30 if step % 40 < 20 else -30, 0), x, y)
    page.keyboard.down("Control")
    fps_zoom = _rate(page, lambda step: page.mouse.wheel(0, -20 if step % 40 < 20 else 20), x, y)
    page.keyboard.up("Control")
    found = {
        "first_picture_ms": round(first),
        "longest_task_ms": round(page.evaluate("() => window.longest")),
        "dom": page.evaluate("() => document.getElementsByTagName('*').length"),
        "fps_pan": round(fps_pan, 1),
        "fps_zoom": round(fps_zoom, 1),
    }
    delays = _delays(page, stack, constellation)
    if delays:
        found["event_to_pixel_p95_ms"] = round(delays[int(len(delays) * 0.95)])
    return found


def _rate(page: Page, move: Any, x: float, y: float) -> float:
    page.mouse.move(x, y)
    page.evaluate(_FRAMES)
    began, step = time.monotonic(), 0
    while time.monotonic() - began < MOVES_S:
        move(step)
        step += 1
    return float(page.evaluate(_FPS))


def _delays(page: Page, stack: Stack, constellation: str) -> list[float]:
    """From the hub's reply to a hold or release until the open task says so; none when it has ended."""
    if stack.state(constellation) in ENDED:
        return []
    tasks = stack.client.get(f"/constellations/{constellation}")["tasks"]
    task = next((one["id"] for one in reversed(tasks) if one["state"] in ("waiting", "ready")), None)
    if task is None:
        return []
    page.goto(f"/constellations/{constellation}/t/{task}?lens=graph")
    found = []
    for turn in range(TOGGLES):
        action, shown = ("hold", "Release") if turn % 2 == 0 else ("release", "Hold")
        page.locator(".inspector").wait_for()
        stack.client.post(f"/constellations/{constellation}/tasks/{task}/{action}")
        began = time.monotonic()
        page.locator(".inspector footer").get_by_role("button", name=shown, exact=True).wait_for()
        found.append((time.monotonic() - began) * 1000)
    return sorted(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    sizes = parser.parse_args().sizes
    home = Path(tempfile.mkdtemp(prefix="sl-ui-"))
    chromium = shutil.which("chromium")
    assert chromium, "the bench of the page needs Chromium"
    figures: dict[str, Any] = {}
    with running(home) as stack, sync_playwright() as play:
        stack.release_sample()
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_context(base_url=stack.url, viewport={"width": 1440, "height": 900}).new_page()
        page.set_default_timeout(180_000)
        scripts: dict[str, int] = {}
        requests: list[str] = []
        page.on("response", lambda response: _weigh(response, scripts, requests))
        page.goto(stack.sign_in_link())
        page.get_by_role("heading", name="Home", exact=True).wait_for()
        page.add_init_script(f"({_OBSERVE})()")
        for size in sizes:
            for kind, plan in KINDS.items():
                one = stack.submit(plan(size))
                figures[f"{kind}_{size}_live"] = measure(page, stack, one)
                with contextlib.suppress(Problem):  # a small one may have ended
                    stack.client.post(f"/constellations/{one}/cancel")
                stack.until_state(one, *ENDED)
                figures[f"{kind}_{size}_ended"] = measure(page, stack, one)
                for name in (f"{kind}_{size}_live", f"{kind}_{size}_ended"):
                    print(f"{name:24} {figures[name]}", flush=True)
        figures["js_gz_kb"] = round(sum(scripts.values()) / 1000)
        figures["requests"] = len(requests)
        browser.close()
    shutil.rmtree(home, ignore_errors=True)
    print(json.dumps(figures))


def _weigh(response: Response, scripts: dict[str, int], requests: list[str]) -> None:
    requests.append(response.url)
    if response.url.endswith(".js") and response.url not in scripts:
        scripts[response.url] = len(gzip.compress(response.body()))


if __name__ == "__main__":
    main()
