"""`browser.read`, `browser.capture`, `browser.steps`: a page as a real browser shows it, and steps in it.

Playwright with a Chromium of this device, both brought by its owner; a fresh, empty profile for each call, so never the
owner's own sign-ins. Every request of a page, not only the first, must go to a host that `net:reach` lists: Playwright
stops those that it sees, and the browser itself knows no address of another host, so that no redirect, socket or worker
leads there.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
import shutil
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Stored
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
_TEXT_CHARS_MOST = 100_000
"""It becomes the result of a task; `complete` says whether more was there."""
_LINKS_MOST = 300
_BLOCKED_MOST = 20
_FLAGS = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
# Media connections ask no resolver, and a proxy would look names up itself.
_NO_WAY_AROUND = ["--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--no-proxy-server"]
_HOST = re.compile(r"[a-z0-9._:-]+")
_OWN_SANDBOX = True
_Selector = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class Read(Args, frozen=True, kw_only=True):
    """The page of an http(s) address after its scripts ran: title, visible text, links."""

    url: Annotated[str, msgspec.Meta(max_length=2000)]
    within_s: Annotated[int, msgspec.Meta(ge=1, le=120)] = 30


class Capture(Args, frozen=True, kw_only=True):
    """A picture of a page; `whole` as long as it is, else what a window of `width` shows."""

    url: Annotated[str, msgspec.Meta(max_length=2000)]
    whole: bool = False
    width: Annotated[int, msgspec.Meta(ge=200, le=4000)] = 1280
    name: str = "page.png"
    within_s: Annotated[int, msgspec.Meta(ge=1, le=120)] = 30


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of `click`, `fill` (with `text`), `press` (a key) and `wait_for`; places are CSS selectors."""

    click: _Selector | None = None
    fill: _Selector | None = None
    press: Annotated[str, msgspec.Meta(min_length=1, max_length=40)] | None = None
    wait_for: _Selector | None = None
    text: Annotated[str, msgspec.Meta(max_length=4000)] = ""


class Steps(Args, frozen=True, kw_only=True):
    """Opens a page, does steps in it one after the other, and reads what is there then."""

    url: Annotated[str, msgspec.Meta(max_length=2000)]
    steps: Annotated[list[Step], msgspec.Meta(examples=[[{"click": "#next"}]], min_length=1, max_length=50)]
    within_s: Annotated[int, msgspec.Meta(ge=1, le=300)] = 60


def executable() -> str | None:
    """Return the Chromium of this device."""
    program = next((path for name in _PROGRAMS if (path := shutil.which(name))), None)
    return program or (str(_MAC) if _MAC.exists() else None)


def _as_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


@contextlib.contextmanager
def _page(context: ToolContext, url: str, within_s: int, width: int = 1280) -> Iterator[tuple[Any, dict[str, None]]]:
    """Yield an open page and the hosts that it asked for in vain."""
    reason = _probe()
    if reason is not None:
        raise ToolFailed(Code.TOOL_UNAVAILABLE, reason, effect=False)
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{url[:200]} is no http or https address", effect=False)
    context.check_host(parts.hostname)
    watch = _Watch(context)
    playwright = importlib.import_module("playwright.sync_api")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=executable(), args=[*_FLAGS, *_bounds(context.hosts)], chromium_sandbox=_OWN_SANDBOX
        )
        try:
            tab = browser.new_context(
                accept_downloads=False, service_workers="block", viewport={"width": width, "height": 900}
            ).new_page()
            watch.over(tab)
            tab.set_default_timeout(within_s * 1000)
            tab.goto(url, wait_until="load")
            yield tab, watch.blocked
        except playwright.TimeoutError as error:
            raise ToolFailed(Code.TIMED_OUT, f"{url}: {_first_line(error)}") from error
        except playwright.Error as error:
            if watch.led_to:
                context.check_host(watch.led_to)
            raise ToolFailed(Code.NETWORK, f"{url}: {_first_line(error)}") from error
        finally:
            browser.close()


def _bounds(hosts: tuple[str, ...]) -> list[str]:
    """Return the flags by which the browser finds the listed hosts and no others, whether by name or by number."""
    if "*" in hosts:
        return []
    listed = "".join(f", EXCLUDE {host}" for host in hosts if _HOST.fullmatch(host))
    return [*_NO_WAY_AROUND, f"--host-resolver-rules=MAP * ~NOTFOUND{listed}"]


class _Watch:
    """The hosts that a page asks for: those that are not listed are stopped and noted."""

    def __init__(self, context: ToolContext) -> None:
        self._hosts = context.hosts
        self.blocked: dict[str, None] = {}
        self.led_to = ""

    def over(self, tab: Any) -> None:
        # A redirect reaches no route, and a socket only the page.
        tab.context.route("**/*", self._pass_on)
        tab.context.on("request", lambda request: self._note(tab, request))
        tab.on("websocket", lambda opened: self._strange(opened.url))

    def _strange(self, url: str) -> str:
        """Return the host of an address if it is not listed, and note it; else nothing."""
        host = (urllib.parse.urlsplit(url).hostname or "").lower()
        if "*" in self._hosts or host in self._hosts:
            return ""
        self.blocked[host] = None
        return host

    def _pass_on(self, route: Any) -> None:
        if self._strange(route.request.url):
            route.abort("blockedbyclient")
        else:
            route.continue_()

    def _note(self, tab: Any, request: Any) -> None:
        host = self._strange(request.url) if request.redirected_from is not None else ""
        if host and request.is_navigation_request() and request.frame == tab.main_frame:
            self.led_to = host


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["the browser gave no reason"])[0][:300]


class PageLink(TypedDict):
    href: str
    text: str


class PageRead(TypedDict):
    """`blocked_hosts` were asked for by the page and are not allowed."""

    blocked_hosts: list[str]
    complete: bool
    links: list[PageLink]
    text: str
    title: str
    url: str


def _page_read(tab: Any, blocked: dict[str, None]) -> PageRead:
    text = tab.inner_text("body")
    links = tab.eval_on_selector_all("a[href]", "all => all.map(a => ({text: a.innerText.trim(), href: a.href}))")
    return {
        "url": tab.url,
        "title": tab.title()[:500],
        "text": text[:_TEXT_CHARS_MOST],
        "complete": len(text) <= _TEXT_CHARS_MOST,
        "links": [{"text": one["text"][:200], "href": one["href"][:2000]} for one in links[:_LINKS_MOST]],
        "blocked_hosts": list(blocked)[:_BLOCKED_MOST],
    }


def read(context: ToolContext, args: Read) -> PageRead:
    with _page(context, args.url, args.within_s) as (tab, blocked):
        return _page_read(tab, blocked)


class _Shown(TypedDict):
    blocked_hosts: list[str]
    title: str
    url: str


class PagePicture(_Shown):
    picture: Stored


def capture(context: ToolContext, args: Capture) -> PagePicture:
    path = context.workdir / "page.png"
    with _page(context, args.url, args.within_s, args.width) as (tab, blocked):
        tab.screenshot(path=str(path), full_page=args.whole)
        page: _Shown = {"url": tab.url, "title": tab.title()[:500], "blocked_hosts": list(blocked)[:_BLOCKED_MOST]}
    return {**page, "picture": context.put(path, name=args.name, media="image/png")}


class PageSteps(PageRead):
    steps: int


def steps(context: ToolContext, args: Steps) -> PageSteps:
    for number, step in enumerate(args.steps, 1):
        actions = [value for value in (step.click, step.fill, step.press, step.wait_for) if value is not None]
        if len(actions) != 1:
            reason = f"step {number} needs exactly one of click, fill, press and wait_for"
            raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
    with _page(context, args.url, args.within_s) as (tab, blocked):
        for number, step in enumerate(args.steps, 1):
            context.progress(fraction=(number - 1) / len(args.steps), note=f"step {number}")
            if step.click is not None:
                tab.click(step.click)
            elif step.fill is not None:
                tab.fill(step.fill, step.text)
            elif step.press is not None:
                tab.keyboard.press(step.press)
            else:
                tab.wait_for_selector(step.wait_for)
        return {**_page_read(tab, blocked), "steps": len(args.steps)}


def _probe() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed beside the agent (pip install playwright)"
    if executable() is None:
        return "there is no Chromium or Chrome on this device"
    return "a browser holds its own sandbox only for a user who is not root" if _as_root() else None


def _tool(
    name: str, title: str, args: type[Args], run: Any, effects: tuple[Effect, ...], repeat: Repeatability
) -> Tool:
    return Tool(
        name=name,
        title=title,
        args=args,
        run=run,
        effects=effects,
        repeatability=repeat,
        grant="net:reach",
        probe=_probe,
    )


_LOOKING = (Effect.READ, Effect.REACH)
TOOLS = (
    _tool("browser.read", "Read a page as a browser shows it", Read, read, _LOOKING, Repeatability.IDEMPOTENT),
    _tool("browser.capture", "Take a picture of a page", Capture, capture, _LOOKING, Repeatability.IDEMPOTENT),
    _tool(
        "browser.steps",
        "Click and type in a page",
        Steps,
        steps,
        (Effect.CHANGE, Effect.REACH, Effect.CONTROL),
        Repeatability.NEVER,
    ),
)
