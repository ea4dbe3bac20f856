"""`make bench-ui`: what the page of a large constellation costs a browser, by size, kind and whether it still runs.

Prints a table and one line of JSON. Nothing is asserted: a figure counts only with its machine (docs/benchmarks.md).
The elements of each page are held to their bound by `tests/e2e/test_large_plans.py`.

- `longest_task_ms` is wall time of the page's main thread, as a person feels it; where hub, agents and browser share
  few processors, most of it is waiting for one. `longest_task_cpu_ms` is what the longest of them computed.
- `tti_s`: the first picture, and after it a second in which no task of the main thread took more than 50 ms.
- `timeline_...` is the same page with the timeline in place of the graph, opened, moved and zoomed; its longest task is
  to stay below 100 ms at 5,000 tasks, and `timeline_cpu_ms` tells its own part of it.
- With `--apart`, the hub and its agents have one half of the processors and the browser the other, as where the browser
  of a person is on another machine than the hub: what the page takes longer then is its own, not waiting for them.
- With `--profile`, the opening of each page is traced in the place of being measured: the processor time of its main
  thread by what it was spent on.
- `heard_kb` is what the live socket brought while the graph was moved and zoomed: a pair of live pages is fair only
  where both heard about as much.
- `axe_violations`, `dead_controls`, `clipped_texts` and `sizes_ok` (of 12) are of the list and the graph of the largest
  constellation, after its end; what each means is in `tests/e2e/screens.py`, `walk.py` and `windows.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from playwright.sync_api import TimeoutError as TooLate

from starloom.client.problems import Problem
from tests.e2e.conftest import FLAGS
from tests.e2e.large import grouped, layered
from tests.e2e.pointer import Hand
from tests.e2e.screens import axe_violations
from tests.e2e.stack import ENDED, Stack, running
from tests.e2e.walk import Walk
from tests.e2e.windows import SIZES as WINDOWS
from tests.e2e.windows import clipped, room, suffices

SIZES = (200, 1_000, 5_000)
PLANS = {"layered": layered, "grouped": grouped}
STATES = ("live", "ended")
KINDS = tuple(f"{plan}-{state}" for plan in PLANS for state in STATES)
MOVES_S = 2.0
QUIET_MS = 1_000
QUIET_WITHIN_S = 30.0
TOGGLES = 20
AHEAD = ("waiting", "ready")
SHOWN_MS = 30_000
TASKS = ("RunTask", "ThreadControllerImpl::RunTask")
"""What Chromium calls one task of a thread, by version."""
WORK = {
    "script": (
        "FunctionCall",
        "EvaluateScript",
        "v8",
        "RunMicrotasks",
        "FireAnimationFrame",
        "TimerFire",
        "EventDispatch",
    ),
    "collection of garbage": ("MinorGC", "MajorGC", "V8.GC"),
    "style": ("UpdateLayoutTree", "ParseAuthorStyleSheet", "RecalculateStyles"),
    "layout": ("Layout",),
    "paint": ("PrePaint", "Paint", "Layerize", "Commit", "UpdateLayer", "CompositeLayers"),
    "page's text": ("ParseHTML",),
}
"""What a main thread does, by the first letters of Chromium's names of events; the longest that fits counts."""

_OBSERVE = """() => {
  window.heard = 0;
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", (event) => { window.heard += event.data.length; });
    }
  };
  window.longest = 0;
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) {
      window.longest = Math.max(window.longest, one.duration);
      window.longTasks.push([one.startTime, one.startTime + one.duration]);
    }
  }).observe({type: "longtask", buffered: true});
  const look = () => {
    const canvas = document.querySelector("canvas.overview");
    const bars = document.querySelector(".timeline .bars canvas");
    const drawn =
      document.querySelector(".taskrow, .react-flow__node") || canvas?.style.width || (bars && bars.width > 300);
    if (drawn) window.pictured = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
_INTERACTIVE = """(quiet) => {
  let at = window.pictured;
  for (const [began, ended] of window.longTasks) if (began < at + quiet) at = Math.max(at, ended);
  return performance.now() >= at + quiet ? at : null;
}"""
_TIMELINE = """() => document.querySelector(".timeline .figures") && window.pictured"""
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
    interactive = _interactive_ms(page)
    page.goto(f"/constellations/{constellation}?lens=graph")
    page.wait_for_function("() => window.pictured")
    page.wait_for_timeout(1_000)
    box = page.locator(".flow").bounding_box()
    assert box is not None, "the graph has no place"
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 3
    heard = page.evaluate("() => window.heard")
    fps_pan = _rate(page, lambda step: page.mouse.wheel(30 if step % 40 < 20 else -30, 0), x, y)
    page.keyboard.down("Control")
    fps_zoom = _rate(page, lambda step: page.mouse.wheel(0, -20 if step % 40 < 20 else 20), x, y)
    page.keyboard.up("Control")
    found = {
        "first_picture_ms": round(first),
        "tti_s": round(interactive / 1000, 2),
        "longest_task_ms": round(page.evaluate("() => window.longest")),
        "dom": page.evaluate("() => document.getElementsByTagName('*').length"),
        "fps_pan": round(fps_pan, 1),
        "fps_zoom": round(fps_zoom, 1),
        "heard_kb": round((page.evaluate("() => window.heard") - heard) / 1000),
    }
    delays = _delays(page, stack, constellation)
    if delays:
        found["event_to_pixel_p95_ms"] = round(delays[int(len(delays) * 0.95)])
    return found


def measure_timeline(page: Page, constellation: str) -> dict[str, float]:
    """Open the timeline as a person would, then move and zoom it."""
    page.goto(f"/constellations/{constellation}?lens=timeline")
    page.wait_for_function(_TIMELINE)
    first = page.evaluate("() => performance.now()")
    _interactive_ms(page)
    box = page.locator(".timeline .bars canvas").bounding_box()
    assert box is not None, "the timeline has no place"
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    opened = page.evaluate("() => window.longest")
    page.evaluate("() => { window.longest = 0; }")
    fps_pan = _rate(page, lambda step: page.mouse.wheel(0, 30 if step % 40 < 20 else -30), x, y)
    page.keyboard.down("Control")
    fps_zoom = _rate(page, lambda step: page.mouse.wheel(0, -20 if step % 40 < 20 else 20), x, y)
    page.keyboard.up("Control")
    return {
        "timeline_picture_ms": round(first),
        "timeline_longest_task_ms": round(opened),
        "timeline_moving_longest_task_ms": round(page.evaluate("() => window.longest")),
        "timeline_fps_pan": round(fps_pan, 1),
        "timeline_fps_zoom": round(fps_zoom, 1),
    }


def _interactive_ms(page: Page) -> float:
    """Wait for a second without long tasks; a page that has none in time counts as interactive when the wait ends."""
    began = time.monotonic()
    while (found := page.evaluate(_INTERACTIVE, QUIET_MS)) is None:
        if time.monotonic() - began > QUIET_WITHIN_S:
            return float(page.evaluate("() => performance.now()"))
        page.wait_for_timeout(50)
    return float(found)


def _longest_cpu_ms(trace: bytes) -> float:
    """Return what the longest task of the busiest page thread computed; waiting for a processor is not in it."""
    events = json.loads(trace)["traceEvents"]
    mains = _main_threads(events)
    tasks = [one for one in events if one["name"] in TASKS and (one["pid"], one["tid"]) in mains]
    return max((one.get("tdur", 0) / 1000 for one in tasks), default=0.0)


def profiled(browser: Browser, page: Page, constellation: str) -> dict[str, float]:
    """Return the milliseconds of processor time of the page's main thread by kind of work, opened as its graph."""
    browser.start_tracing(page=page, categories=["toplevel", "devtools.timeline", "v8"])
    page.goto(f"/constellations/{constellation}?lens=graph")
    page.wait_for_function("() => window.pictured")
    _interactive_ms(page)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    mains = _main_threads(events)
    begun: dict[tuple[int, int], list[tuple[float, str]]] = {}
    spent: dict[str, float] = {}
    for one in sorted((one for one in events if one["ph"] == "X"), key=lambda one: (one["ts"], -one.get("dur", 0))):
        thread = (one["pid"], one["tid"])
        if thread not in mains or "tdur" not in one:
            continue
        around = begun.setdefault(thread, [])
        while around and around[-1][0] <= one["ts"]:
            around.pop()
        kind = _kind(one["name"]) or (around[-1][1] if around else "the browser's own")
        spent[kind] = spent.get(kind, 0) + one["tdur"] / 1000
        if around:
            spent[around[-1][1]] -= one["tdur"] / 1000
        around.append((one["ts"] + one.get("dur", 0), kind))
    return {kind: round(ms) for kind, ms in sorted(spent.items(), key=lambda item: -item[1])}


def _kind(event: str) -> str | None:
    """Return the kind of work of an event; None for one that is of the kind of what it is a part of."""
    fits = [(len(first), kind) for kind, names in WORK.items() for first in names if event.startswith(first)]
    return max(fits)[1] if fits else None


def _main_threads(events: list[dict[str, Any]]) -> set[tuple[int, int]]:
    return {
        (one["pid"], one["tid"])
        for one in events
        if one["name"] == "thread_name" and one["args"].get("name") == "CrRendererMain"
    }


def judge(page: Page, constellation: str) -> dict[str, int]:
    """Return what axe, a hand and twelve windows find on the list and the graph of an ended constellation."""
    found = {"axe_violations": 0, "dead_controls": 0, "clipped_texts": 0, "sizes_ok": 0}
    lenses = {"list": (".tasklist", ".taskrow"), "graph": (".flow", "canvas.overview, .react-flow__node")}
    usual = page.viewport_size
    assert usual is not None, "the page has no size"
    for lens, (_, ready) in lenses.items():
        page.goto(f"/constellations/{constellation}?lens={lens}")
        page.locator(ready).first.wait_for(state="attached")
        found["axe_violations"] += len(axe_violations(page))
    for wide, high in WINDOWS:
        page.set_viewport_size({"width": wide, "height": high})
        enough = True
        for lens, (part, _) in lenses.items():
            page.goto(f"/constellations/{constellation}?lens={lens}")
            page.locator(part).wait_for(state="attached")
            enough = suffices(room(page, part)) and enough
            found["clipped_texts"] += len(clipped(page))
        found["sizes_ok"] += enough
    page.set_viewport_size(usual)
    walk = Walk(set(), [])
    with walk.watching(page):
        for lens, (_, ready) in lenses.items():
            walk.over(page, Hand(page, touch=False), f"/constellations/{constellation}?lens={lens}", ready)
    for fault in walk.dead:
        print(f"dead: {fault}", flush=True)
    found["dead_controls"] = len(walk.dead)
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
    task = next((one["id"] for one in reversed(tasks) if one["state"] in AHEAD), None)
    if task is None:
        return []
    page.goto(f"/constellations/{constellation}/t/{task}?lens=graph")
    found = []
    for turn in range(TOGGLES):
        action, shown = ("hold", "Release") if turn % 2 == 0 else ("release", "Hold")
        page.locator(".inspector").wait_for()
        try:
            stack.client.post(f"/constellations/{constellation}/tasks/{task}/{action}")
        except Problem:  # its turn has come meanwhile: there is nothing to hold any more
            break
        began = time.monotonic()
        try:
            page.locator(".inspector footer").get_by_role("button", name=shown, exact=True).wait_for(timeout=SHOWN_MS)
        except TooLate:
            if stack.task_state(constellation, task) in AHEAD:
                raise
            break  # what was released began at once: the page has neither button for it
        found.append((time.monotonic() - began) * 1000)
    return sorted(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--kinds", choices=KINDS, nargs="+", default=list(KINDS))
    parser.add_argument(
        "--beside", type=Path, help="another build of the page, measured before this one in the same run"
    )
    parser.add_argument("--timeline", action="store_true", help="measure the timeline alone")
    parser.add_argument(
        "--no-judge", action="store_true", help="leave out axe, the walk and the windows: a minute or two"
    )
    parser.add_argument(
        "--apart", action="store_true", help="give the browser half of the processors, the hub the rest"
    )
    parser.add_argument("--profile", action="store_true", help="trace the openings in the place of measuring")
    asked = parser.parse_args()
    lenses_and_places = {"timeline": asked.timeline, "apart": asked.apart, "profile": asked.profile}
    if asked.beside:
        beside = bench(asked.sizes, asked.kinds, asked.beside, judged=False, **lenses_and_places)
        print(json.dumps({"beside": beside}), flush=True)
    judged = not (asked.no_judge or asked.timeline or asked.profile)
    print(json.dumps(bench(asked.sizes, asked.kinds, None, judged=judged, **lenses_and_places)))


def bench(
    sizes: list[int], kinds: list[str], web: Path | None, *, judged: bool, timeline: bool, apart: bool, profile: bool
) -> dict[str, Any]:
    """Measure one build of the page on a stack of its own; `timeline`: that lens alone, `profile`: openings alone."""
    chromium = shutil.which("chromium")
    assert chromium, "the bench of the page needs Chromium"
    home = Path(tempfile.mkdtemp(prefix="sl-ui-"))
    figures: dict[str, Any] = {}
    processors = sorted(os.sched_getaffinity(0))
    half = len(processors) // 2
    assert half or not apart, "one processor cannot be shared out"
    with contextlib.ExitStack() as stay:
        if apart:
            stay.callback(os.sched_setaffinity, 0, processors)
            os.sched_setaffinity(0, processors[:half])
        stack = stay.enter_context(running(home, web))
        if apart:
            os.sched_setaffinity(0, processors[half:])
        play = stay.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        stack.release_sample()
        context = browser.new_context(
            base_url=stack.url, viewport={"width": 1440, "height": 900}, service_workers="block"
        )
        page = context.new_page()
        page.set_default_timeout(180_000)
        requests: list[str] = []
        page.on("response", lambda response: requests.append(response.url))
        page.goto(stack.sign_in_link())
        page.get_by_role("heading", name="Home", exact=True).wait_for()
        page.add_init_script(f"({_OBSERVE})()")
        pages: list[dict[str, float]] = []
        last = ""
        for size in sizes:
            for kind, plan in PLANS.items():
                states = [state for state in STATES if f"{kind}-{state}" in kinds]
                if not states:
                    continue
                last = stack.submit(plan(size))
                for state in states:
                    if state == "ended":
                        with contextlib.suppress(Problem):  # a small one may have ended
                            stack.client.post(f"/constellations/{last}/cancel")
                        stack.until_state(last, *ENDED)
                    found: dict[str, float] = {}
                    if profile:
                        figures[f"{kind}_{size}_{state}"] = found = profiled(browser, page, last)
                        print(f"{kind}_{size}_{state:6} {found}", flush=True)
                        continue
                    if not timeline:
                        browser.start_tracing(page=page, categories=["toplevel"])
                        found = measure(page, stack, last)
                        found["longest_task_cpu_ms"] = round(_longest_cpu_ms(browser.stop_tracing()))
                    browser.start_tracing(page=page, categories=["toplevel"])
                    found |= measure_timeline(page, last)
                    found["timeline_cpu_ms"] = round(_longest_cpu_ms(browser.stop_tracing()))
                    pages.append(found)
                    figures[f"{kind}_{size}_{state}"] = found
                    print(f"{kind}_{size}_{state:6} {found}", flush=True)
        worst = ("tti_s", "longest_task_ms", "longest_task_cpu_ms", "timeline_longest_task_ms", "timeline_cpu_ms")
        for name in (name for name in worst if any(name in found for found in pages)):
            figures[name] = max(found.get(name, 0) for found in pages)
        if any("dom" in found for found in pages):
            figures["dom_max"] = max(found.get("dom", 0) for found in pages)
        if judged:
            figures |= judge(page, last)
        figures["js_gz_kb"] = round(_weight(context, {url for url in requests if url.endswith(".js")}) / 1000)
        figures["requests"] = len(requests)
        browser.close()
    shutil.rmtree(home, ignore_errors=True)
    return figures


def _weight(context: BrowserContext, scripts: set[str]) -> int:
    """Return the bytes of the scripts, compressed. They are read again: a page that has moved on gives no bodies."""
    return sum(len(gzip.compress(context.request.get(url).body())) for url in scripts)


if __name__ == "__main__":
    main()
