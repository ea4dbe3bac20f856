"""Commands for the people who share a hub: `person ls | invite | role | rm`."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from starloom.cli.constellations.stopping import Selection
from starloom.cli.invocation import Invocation, hub_command
from starloom.cli.owner.tokens import Resting, good_now, limited_words
from starloom.client.problems import usage
from starloom.client.routes import delete_token, get_people, get_tokens, patch_person, post_sign_in_links
from starloom.client.terminal.style import clock
from starloom.client.terminal.typed import say
from starloom.client.terminal.values import duration_s
from starloom_protocol.text.wording import counted, listed
from starloom_protocol.vocabulary import PrincipalKind, Role

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The person's name.")]


def register(app: typer.Typer) -> None:
    person = typer.Typer(help="The people who share this hub, and their rights.", no_args_is_help=True)
    hub_command(person, "ls")(person_list)
    hub_command(person, "invite")(person_invite)
    hub_command(person, "role")(person_role)
    hub_command(person, "rm")(person_remove)
    app.add_typer(person, name="person")


def person_list(run: Invocation) -> None:
    """List people, programs and assistants: role, sessions on the page, tokens, last use."""
    page = run.client.get(get_people())
    if run.emits(page):
        return
    for item in page["items"]:
        use = f"last used {clock(item['last_used_at'])}" if item["last_used_at"] else "not used since the hub began"
        holdings = f"{counted(item['sessions'], 'session')}, {counted(item['tokens'], 'token')}"
        if item["revoked_at"]:
            holdings = f"revoked {clock(item['revoked_at'])}"
        line = f"{item['name']:<20} {item['kind']:<9} {item['role']:<9} {holdings:<25} {use}"
        # A hub of an earlier release tells no scopes.
        print(line + limited_words(item.get("scopes", [])))


def person_invite(
    run: Invocation,
    name: NameArgument,
    role: Annotated[
        Role, typer.Option("--role", help="viewer looks, approver also answers, operator also runs, owner does all.")
    ] = Role.VIEWER,
    ttl: Annotated[str, typer.Option("--ttl", help="How long they may use the hub, for example 30d.")] = "30d",
    scope: Annotated[
        list[str] | None, typer.Option("--scope", help="Narrow their rights to this scope; recipe:NAME is one recipe.")
    ] = None,
    qr: Annotated[bool, typer.Option("--qr", help="Show the link as a QR code, for a phone.")] = False,
) -> None:
    """Make a sign-in link for another person: it opens the page once, within a day, with the rights of the role."""
    body: dict[str, Any] = {"for": name, "role": role.value, "ttl_s": duration_s(ttl)}
    if scope:
        body["scopes"] = scope
    link = run.client.create(post_sign_in_links(), body)
    if run.emits(link):
        return
    url = link["lan_url"] or link["url"]
    if qr:
        from starloom.client.terminal.qr import print_qr

        print_qr(url)
    print(url)
    say(f"For {name}, {role}: good once, until {clock(link['expires_at'])}.")
    say(f"To end it: starloom token revoke {link['token']}")
    if "//127." in url or "//localhost" in url:
        say(
            "This address works on this computer only. For others press *Allow this network* under *Invite a person* "
            "in Settings on the page, or start the hub with: starloom up --lan"
        )


def person_role(
    run: Invocation,
    name: NameArgument,
    role: Annotated[Role, typer.Argument(metavar="ROLE", help="viewer, approver, operator or owner.")],
) -> None:
    """Give somebody another role; their tokens and sessions with more rights end at once."""
    person = run.client.patch(patch_person(name), {"role": role.value})
    if run.emits(person):
        return
    kept_words = f"{counted(person['sessions'], 'session')} and {counted(person['tokens'], 'token')}"
    print(f"{name} is {person['role']} now and keeps {kept_words}")
    if person["sessions"] or person["tokens"]:
        say(
            "These keep the rights with which they were made. For the new role on the page, invite again: "
            f"starloom person invite {shlex.quote(name)} --role {person['role']}"
        )


def person_remove(
    run: Invocation,
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a person: every session, token and invitation of theirs ends at once, and all that rests on them."""
    items = run.client.get(get_tokens())["items"]
    good = [item for item in good_now(items) if item["for"] is not None and item["for"]["name"] == name]
    if not good:
        raise usage(f"{name} has no session, token or invitation that is good now", "See: starloom person ls")
    people = [item for item in run.client.get(get_people())["items"] if item["kind"] == PrincipalKind.PERSON]
    if [item["name"] for item in people if item["role"] == Role.OWNER and not item["revoked_at"]] == [name]:
        way_out = "Make another owner first: starloom person invite NAME --role owner"
        raise usage(f"{name} is the only owner, and a hub has one", way_out)
    nouns = {"session": "session", "bearer": "token", "invitation": "invitation"}
    counts = {noun: sum(item["kind"] == kind for item in good) for kind, noun in nouns.items()}
    ends = listed([counted(count, noun) for noun, count in counts.items() if count])
    rest = Resting(good, items).words()
    also = f", and {rest} that rest on them" if rest else ""
    if not yes:
        ends_words = f"this ends {ends} of {name}{also}, with their join codes"
        line = f"starloom person rm {shlex.quote(name)}"
        if not run.agrees(ends_words, f"{ends_words[0].upper()}{ends_words[1:]}. Remove {name}?", line):
            print("Nobody was removed.")
            return
    going_on = Selection.of(run, name)
    # The end of one of them may end the right by which this command asks.
    removed = [run.client.delete(delete_token(item["id"])) for item in sorted(good, key=lambda row: row["ends_asker"])]
    if run.as_json:
        run.emit({"items": removed})
    else:
        print(f"{name} is removed: {ends} ended{also}. To come back, {name} needs an invitation.")
        if count := len(going_on.rows):
            goes = f"{counted(count, 'constellation')} {going_on.words} {'goes' if count == 1 else 'go'} on"
            say(f"{goes}. To stop all of it: starloom cancel {going_on.option}")
