"""Commands for access to this hub: `token`, `open`, and `demo remove`, which removes the devices of the sample."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

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
from starloom_protocol.vocabulary import PrincipalKind, Role

if TYPE_CHECKING:
    from starloom_protocol.api.people import TokenRow


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
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
    if run.as_json:
        run.emit(issued)
        return
    print(issued["token"])


def token_list(run: Invocation) -> None:
    """List the tokens: role, begin, last use, expiry. Their secrets are not kept."""
    page = run.client.get(get_tokens())
    if run.as_json:
        run.emit(page)
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
        tell(f"{line}  {browser_name(item['label']) or item['label']}{limited_words(item.get('scopes', []))}")


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


def token_revoke(
    run: Invocation, token: Annotated[str, typer.Argument(metavar="ID", help="As `starloom token ls` lists it.")]
) -> None:
    """Revoke a token; its open connections are cut."""
    run.answer(run.client.delete(delete_token(token)), f"{token} revoked")


def open_page(
    run: Invocation,
    qr: Annotated[bool, typer.Option("--qr", help="Show the link as a QR code, for a phone.")] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in this machine's browser.")] = True,
) -> None:
    """Make a fresh sign-in link for the page; it is good once, for a short time."""
    link = run.client.create(post_sign_in_links(), {})
    if run.as_json:
        run.emit(link)
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
