"""Commands for access to this hub: `token`, `open`, and `demo remove`, which removes the devices of the sample."""

from __future__ import annotations

import webbrowser
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from starloom.cli.invocation import Invocation, hub_command
from starloom.client.routes import (
    delete_token,
    get_devices,
    get_tokens,
    post_device_action,
    post_sign_in_links,
    post_tokens,
)
from starloom.client.terminal.escaping import tell
from starloom.client.terminal.style import clock
from starloom.client.terminal.typed import say
from starloom.client.terminal.values import duration_s
from starloom_protocol.text.wording import counted, listed
from starloom_protocol.vocabulary import PrincipalKind, Role

if TYPE_CHECKING:
    from starloom_protocol.api.people import TokenRow


NAMES_MOST: Final = 4
"""The most names in a sentence that a person reads before they agree."""


def register(app: typer.Typer) -> None:
    token = typer.Typer(help="Bearer tokens for programs.", no_args_is_help=True)
    hub_command(token, "create")(token_create)
    hub_command(token, "ls")(token_list)
    hub_command(token, "revoke")(token_revoke)
    app.add_typer(token, name="token")
    hub_command(app, "open")(open_page)
    demo = typer.Typer(help="The sample's devices.", no_args_is_help=True)
    hub_command(demo, "remove")(demo_remove)
    app.add_typer(demo, name="demo")


def token_create(
    run: Invocation,
    role: Annotated[Role, typer.Option("--role", help="Its rights; never more than yours.")],
    ttl: Annotated[str, typer.Option("--ttl", help="How long it is good, for example 30d.")],
    holder: Annotated[
        str, typer.Option("--for", metavar="NAME", help="Who is to hold it; the log names them. You, if left out.")
    ] = "",
    kind: Annotated[
        PrincipalKind | None, typer.Option("--kind", help="The kind of NAME; an assistant never approves.")
    ] = None,
    label: Annotated[str, typer.Option("--label", help="A note on its use.")] = "",
    scope: Annotated[
        list[str] | None, typer.Option("--scope", help="Narrow it to this scope; recipe:NAME is one recipe.")
    ] = None,
) -> None:
    """Create a token. It is shown once, has no more rights than yours, and ends with yours."""
    body: dict[str, Any] = {"role": role.value, "ttl_s": duration_s(ttl)}
    if holder:
        body["for"] = holder
    if kind is not None:
        body["kind"] = kind.value
    if label:
        body["label"] = label
    if scope:
        body["scopes"] = scope
    issued = run.client.create(post_tokens(), body)
    if run.emits(issued):
        return
    print(issued["token"])


def token_list(run: Invocation) -> None:
    """List the tokens: role, begin, last use, expiry. Their secrets are not kept."""
    page = run.client.get(get_tokens())
    if run.emits(page):
        return
    from starloom_protocol.text.browsers import browser_name

    for item in page["items"]:
        holder = item["for"]
        holder_words = f"{holder['name']} ({holder['kind']})" if holder else ""
        since = f"since {clock(item['created_at'])}" if item["created_at"] else ""
        # An invitation that nobody has opened ends with its link.
        end = f"until {clock(item['link_until'] or item['expires_at'])}"
        if item["revoked_at"]:
            end = f"revoked {clock(item['revoked_at'])}"
        line = f"{item['id']}  {item['role']:<9} {item['kind']:<8} {since}, {_use_of(item)}, {end}  {holder_words}"
        made_with = f"  made with {item['made_with']}" if item.get("made_with") else ""
        label = browser_name(item["label"]) or item["label"]
        tell(f"{line}  {label}{limited_words(item.get('scopes', []))}{made_with}")


def limited_words(scopes: Sequence[str]) -> str:
    """Return the scopes to which a right is limited, as the end of its line; empty for a whole role."""
    return f"  only {', '.join(scopes)}" if scopes else ""


def _use_of(item: TokenRow) -> str:
    """Return when a token was used; of an invitation, when its link was opened and by whom."""
    from starloom_protocol.text.browsers import browser_name

    if item["kind"] != "invitation":
        # The hub counts uses in its memory.
        return f"used {clock(item['last_used_at'])}" if item["last_used_at"] else "not used since the hub began"
    if item["link_used_at"]:
        browser, holder = browser_name(item["link_used_with"]), item["for"]
        by = f" by {holder['name']}" if holder else ""
        return f"opened {clock(item['link_used_at'])}{by}{f' in {browser}' if browser else ''}"
    return "not opened yet" if item["link_until"] else "never opened"


def good_now(items: Sequence[TokenRow]) -> list[TokenRow]:
    """Return the sessions, tokens and invitations that let somebody in now."""
    present = datetime.now(UTC)
    return [
        item
        for item in items
        if not item["revoked_at"] and (not item["expires_at"] or datetime.fromisoformat(item["expires_at"]) > present)
    ]


def _holder(item: TokenRow) -> str:
    return item["for"]["name"] if item["for"] else ""


class Resting:
    """All that ends with some tokens: what was made with them, and with that, and the schedules of all of it.

    A session of the same holder is the token in use, and not counted.
    """

    def __init__(self, ending: Sequence[TokenRow], items: Sequence[TokenRow]) -> None:
        holders = {_holder(item) for item in ending}
        ids = {item["id"] for item in ending}
        below = list(_made_with(ids, items))
        good = [item for item in good_now(below) if item["id"] not in ids]
        self.tokens = [item for item in good if item["kind"] != "session" or _holder(item) not in holders]
        self.people = sorted({_holder(item) for item in self.tokens} - holders - {""})
        self.schedules = sum(item.get("schedules", 0) for item in (*ending, *good))

    def words(self) -> str:
        """Return what ends, for a question or an answer; empty where nothing rests on them."""
        parts = []
        if self.tokens:
            nouns = {"session": "session", "bearer": "token", "invitation": "invitation"}
            counts = {noun: sum(item["kind"] == kind for item in self.tokens) for kind, noun in nouns.items()}
            parts = [counted(count, noun) for noun, count in counts.items() if count]
            if self.people:
                names = self.people[:NAMES_MOST]
                more = [f"{len(self.people) - len(names)} more"] if len(self.people) > len(names) else []
                parts[-1] += f" (among them those of {listed([*names, *more])})"
        if self.schedules:
            parts.append(counted(self.schedules, "schedule"))
        return listed(parts) if parts else ""

    def figures(self) -> dict[str, Any]:
        return {"tokens": [item["id"] for item in self.tokens], "people": self.people, "schedules": self.schedules}


def _made_with(ids: Collection[str], items: Sequence[TokenRow]) -> Iterator[TokenRow]:
    """Yield the rows of all that was made with tokens of these ids, and with that."""
    ahead, seen = list(ids), set(ids)
    while ahead:
        parent = ahead.pop()
        for item in items:
            # A hub of an earlier release does not tell what it was made with.
            if item.get("made_with") == parent and item["id"] not in seen:
                seen.add(item["id"])
                ahead.append(item["id"])
                yield item


def token_revoke(
    run: Invocation,
    token: Annotated[str, typer.Argument(metavar="ID", help="As `starloom token ls` lists it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Revoke a token and all that was made with it; their open connections are cut. Asks where others rest on it."""
    items = run.client.get(get_tokens())["items"]
    resting = Resting([item for item in items if item["id"] == token and not item["revoked_at"]], items)
    ends = resting.words()
    if ends and not yes:
        ends_words = f"this also ends {ends}, made with {token}"
        if not run.agrees(ends_words, f"T{ends_words[1:]}. Revoke it?", f"starloom token revoke {token}"):
            print("Nothing was revoked.")
            return
    answer = run.client.delete(delete_token(token))
    if run.as_json:
        run.emit({**answer, "ended": resting.figures()})
        return
    print(f"{token} revoked" + (f", and with it {ends}" if ends else ""))


def open_page(
    run: Invocation,
    qr: Annotated[bool, typer.Option("--qr", help="Show the link as a QR code, for a phone.")] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in this machine's browser.")] = True,
) -> None:
    """Make a fresh sign-in link for the page; it is good once, for a short time."""
    link = run.client.create(post_sign_in_links(), {})
    if run.emits(link):
        return
    url = link["url"]
    if qr:
        from starloom.client.terminal.qr import print_qr

        url = link["lan_url"] or url
        print_qr(str(url))
        print(url)
        if "//127." in url or "//localhost" in url:
            say(
                "(this address works on this computer only; for a phone press *Allow phones* in *Add device* on the "
                "page, or start the hub with: starloom up --lan)"
            )
        return
    print(url)
    if browser and not webbrowser.open(url):
        print("(no browser could be opened here; paste the link into one)")


def demo_remove(run: Invocation) -> None:
    """Remove the sample's devices from the fleet."""
    items = [item for item in run.client.get(get_devices())["items"] if item["demo"] and not item["revoked"]]
    for item in items:
        run.client.post(post_device_action(item["id"], "revoke"), {"reason": "starloom demo remove"})
        run.client.post(post_device_action(item["id"], "forget"), {})
    if run.as_json:
        run.emit({"removed": [item["name"] for item in items]})
        return
    print("Removed " + ", ".join(item["name"] for item in items) if items else "There are no demo devices.")
