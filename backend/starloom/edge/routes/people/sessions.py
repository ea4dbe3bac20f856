"""Signing in and out, sign-in links, tokens, and tickets for the live socket."""

from __future__ import annotations

import asyncio
import unicodedata
from collections import Counter

from fastapi import APIRouter, Request

from starloom.core.state import inputs
from starloom.edge.access import issue
from starloom.edge.access.callers import (
    BEARER,
    INVITATION,
    RECIPE,
    Caller,
    Means,
    Scope,
    is_scope,
    may_end,
    may_issue,
)
from starloom.edge.access.credentials import SESSION_PREFIX, csrf_of, new_id, split
from starloom.edge.access.guard import V1
from starloom.edge.access.rate_limits import others_words
from starloom.edge.first_run import ELSEWHERE_LABEL, LOCAL_LABEL, local_token_id
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.routes.bodies import NewLink, NewToken, SignInBody
from starloom.edge.routes.fleet.join_lines import qr
from starloom.edge.web.admission import caller_of, cookie_of
from starloom.edge.web.own_command import TypedHere
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, Repeats, asked_once, json_reply
from starloom.process.computers import computers_of
from starloom.process.program import NAME
from starloom_protocol.api.people import (
    Holder,
    IssuedToken,
    LinkTerms,
    LiveTicket,
    RevokedToken,
    SessionRow,
    SignedIn,
    SignedOut,
    SignInLink,
    TokenRow,
)
from starloom_protocol.api.service import Items
from starloom_protocol.records.entities import Principal, SignIn, Token
from starloom_protocol.stream.authors import author_of
from starloom_protocol.text.look_alikes import look_of, person_name_fault
from starloom_protocol.text.rights import may_words
from starloom_protocol.vocabulary import Code, PrincipalKind, Role, ScheduleState

INVITED_FOR_S = 24 * 3600
"""How long the link of another person is good: it travels by a message and is not read at once."""

_NEW_LINK = "Ask the person who invited you for a new link. On the computer of the hub, `starloom open` makes one."


def cookie_name(port: int, request: Request) -> str:
    """Return the session cookie's name: WebKit keeps no Secure cookie on a plain loopback listener.

    A cookie does not know ports, so its name does: that of the listener, which another hub may have passed on from.
    """
    relayed = getattr(request.state, "relayed", None)
    return "__Host-starloom" if request.url.scheme == "https" else f"starloom-{relayed.port if relayed else port}"


def _address(hub: Hub, request: Request) -> str:
    """Return the address for a link: that of the hub which was asked, where it has no name that both share."""
    relayed = getattr(request.state, "relayed", None)
    if relayed is None or hub.settings.public_url is not None:
        return hub.settings.outside_url
    return f"{relayed.scheme}://{relayed.host}"


def _with_label(row: TokenRow, token: Token, local: str) -> TokenRow:
    """Return the row of a token, in which only the local token of this home is called that of this machine."""
    is_elsewhere = (
        local and token.id != local and token.kind == BEARER and not token.parent and token.label == LOCAL_LABEL
    )
    return {**row, "label": ELSEWHERE_LABEL} if is_elsewhere else row


class Sessions:
    """Routes of access."""

    def __init__(self, hub: Hub, repeats: Repeats, here: TypedHere) -> None:
        self._here = here
        self._hub = hub
        self._repeats = repeats

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/sign-in", self.sign_in, methods=["POST"])
        router.add_api_route(V1 + "/sign-in/terms", self.terms, methods=["POST"])
        router.add_api_route(V1 + "/sign-out", self.sign_out, methods=["POST"])
        router.add_api_route(V1 + "/session", self.session, methods=["GET"])
        router.add_api_route(V1 + "/sign-in-links", self.new_link, methods=["POST"], status_code=201)
        router.add_api_route(V1 + "/tokens", self.tokens, methods=["GET"])
        router.add_api_route(V1 + "/tokens", self.new_token, methods=["POST"], status_code=201)
        router.add_api_route(V1 + "/tokens/{token}", self.revoke, methods=["DELETE"])
        router.add_api_route(V1 + "/live/tickets", self.ticket, methods=["POST"], status_code=201)

    async def sign_in(self, request: Request, body: SignInBody) -> JsonReply[SignedIn]:
        """Exchange a one-time sign-in link for a session: sets the cookie and returns the CSRF token."""
        hub = self._hub
        link, principal, parent = self._usable_link(request, body)
        label = request.headers.get("user-agent", "")[:128]
        role = parent.role if parent else principal.role
        issued = issue.session(
            principal.id, role, hub.now_ms(), ttl_s=hub.settings.session_ttl_s, label=label, parent=parent
        )
        by = author_of(principal.kind, principal.name, issued.token.id)
        item = inputs.SignInUsed(by=by, id=new_id(), scope=role, signin=link.id, token=issued.token)
        accepted(await hub.inbox.ask(item))
        reply: JsonReply[SignedIn] = json_reply(
            {
                "principal": {"id": principal.id, "name": principal.name},
                "role": role,
                "csrf": issued.csrf,
                "expires_at": entity_json.iso(issued.token.expires_ms),
            }
        )
        scheme = request.url.scheme
        reply.set_cookie(
            cookie_name(hub.settings.port, request),
            issued.text,
            max_age=hub.settings.session_ttl_s,
            path="/",
            secure=scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return reply

    async def terms(self, request: Request, body: SignInBody) -> JsonReply[LinkTerms]:
        """Tell what the link of an invitation gives, before it is used: a person reads it, and then signs in or not."""
        access = self._hub.access
        _, principal, parent = self._usable_link(request, body)
        if parent is None or parent.kind != INVITATION:
            return json_reply({"invitation": None})
        inviting = access.tokens.get(parent.parent)
        inviter = access.principals.get(inviting.principal) if inviting else None
        return json_reply(
            {
                "invitation": {
                    "for": principal.name,
                    "by": inviter.name if inviter else "",
                    "role": parent.role,
                    "may": may_words(parent.role, parent.scopes),
                    "until": entity_json.iso(parent.expires_ms),
                }
            }
        )

    def _usable_link(self, request: Request, body: SignInBody) -> tuple[SignIn, Principal, Token | None]:
        """Return a sign-in link that can still be used, its person, and the token from which its rights come.

        Raises:
            Problem: it is unknown, used or too old, or that token has ended.
        """
        access = self._hub.access
        link = access.sign_in(body.id, body.secret)
        principal = access.principals.get(link.principal) if link else None
        if link is None or principal is None:
            raise self._bad_link(request)
        parent = access.tokens.get(link.parent) if link.parent else None
        if link.parent and (parent is None or not access.is_valid(parent.id)):
            raise Problem(Code.NOT_SIGNED_IN, "the token that made this sign-in link has ended")
        return link, principal, parent

    def _bad_link(self, request: Request) -> Problem:
        address = request.client.host if request.client else ""
        reason, hint = "this sign-in link is unknown, used or too old", _NEW_LINK
        wait_s = self._hub.limits.failed("sign_in", address)
        more = self._here.more(request)
        if not wait_s:
            return Problem(Code.NOT_SIGNED_IN, reason, hint=hint, more=more)
        reason += f"; so were {others_words(wait_s)}"
        return Problem(Code.RATE_LIMITED, reason, hint=hint, retry_after_s=wait_s, more=more)

    async def sign_out(self, request: Request) -> JsonReply[SignedOut]:
        """End this session or revoke this token."""
        caller = caller_of(request)
        await self._revoke(caller, caller.token)
        reply: JsonReply[SignedOut] = json_reply({"signed_out": True})
        scheme = request.url.scheme
        reply.delete_cookie(
            cookie_name(self._hub.settings.port, request), path="/", secure=scheme == "https", httponly=True
        )
        return reply

    async def session(self, request: Request) -> JsonReply[SessionRow]:
        """Return who asks; a page also gets its CSRF token again."""
        caller = caller_of(request)
        token = self._hub.access.tokens[caller.token]
        computers = computers_of(self._hub.settings.home)
        row: SessionRow = {
            "principal": {"id": caller.principal, "kind": caller.kind, "name": caller.name},
            "role": caller.role,
            "person_role": self._hub.access.principals[caller.principal].role,
            "approves": caller.approves,
            "scopes": sorted(caller.scopes),
            "means": caller.means,
            "token": caller.token,
            "expires_at": entity_json.iso(token.expires_ms),
            "now": entity_json.iso(self._hub.now_ms()),
            "lab": self._hub.settings.lab,
            "hub_device": next((device for device, way in computers.items() if way == "own"), None),
            # It has the paths of the hub's computer, and often a person's name. Only its owner starts that program.
            "program": self._hub.program if caller.role is Role.OWNER else NAME,
        }
        if caller.means is Means.SESSION:
            cookie = cookie_of(request, cookie_name(self._hub.settings.port, request))
            parts = split(cookie or "", SESSION_PREFIX)
            row["csrf"] = csrf_of(parts[1]) if parts else ""
        return json_reply(row)

    async def new_link(self, request: Request, body: NewLink | None = None) -> JsonReply[SignInLink]:
        """Make a one-time sign-in link for oneself, or for a person by name; its secret stands after the `#`.

        Its session has the rights of the token that asks, and ends with it. For another person, a token of that role is
        made first: the session has its rights, and whoever may revoke it ends the session.
        """
        hub, caller = self._hub, caller_of(request)
        terms = body or NewLink()
        if caller.kind is not PrincipalKind.PERSON:
            raise Problem(Code.FORBIDDEN, f"a {caller.kind} does not sign in to the page: ask a person to do this")
        if terms.holder and caller.role is not Role.OWNER:
            raise Problem(Code.FORBIDDEN, "only an owner invites others", hint="Leave `for` out.")
        if not terms.holder and (terms.role is not None or terms.scopes):
            reason = "a link for oneself has the rights of the token that asks"
            raise Problem(Code.BAD_REQUEST, reason, hint="Name somebody in `for`, or leave role and scopes out.")

        async def make() -> JsonReply[SignInLink]:
            parent, principal, ttl_s = caller.token, caller.principal, hub.settings.sign_in_ttl_s
            if terms.holder:
                token_terms = NewToken.model_validate(
                    {
                        "for": terms.holder,
                        "kind": PrincipalKind.PERSON,
                        "label": "invited to the page",
                        "role": terms.role or Role.VIEWER,
                        "scopes": terms.scopes,
                        "ttl_s": terms.ttl_s,
                    }
                )
                token = (await self._issue(caller, token_terms, kind=INVITATION)).token
                parent, principal, ttl_s = token.id, token.principal, min(INVITED_FOR_S, terms.ttl_s)
            issued = issue.link(principal, hub.now_ms(), ttl_s=ttl_s, parent=parent)
            item = inputs.SignInOpened(signin=issued.sign_in, **caller.signed())
            accepted(await hub.inbox.ask(item))
            lan = hub.lan.state
            url = _address(hub, request) + issued.fragment
            lan_url = lan.url + issued.fragment if lan.leaf is not None else None
            return json_reply(
                {
                    "url": url,
                    "lan_url": lan_url,
                    "qr": qr(lan_url or url),
                    "expires_at": entity_json.iso(issued.sign_in.expires_ms),
                    "token": parent,
                },
                201,
            )

        return await self._repeats.once(request, make, secret="a sign-in link")

    async def tokens(self, request: Request) -> JsonReply[Items[TokenRow]]:
        """List tokens and sessions; anyone but a full owner sees their own and those that come from it."""
        caller, access = caller_of(request), self._hub.access
        local_token = await asyncio.to_thread(local_token_id, self._hub.settings.home)
        schedules = Counter(
            one.token for one in self._hub.fleet.schedules.values() if one.state is ScheduleState.ACTIVE
        )
        items = [
            _with_label(self._shape(token, caller, schedules[token.id]), token, local_token)
            for token in sorted(access.tokens.values(), key=lambda token: (-token.created_ms, token.id))
            if may_end(caller, token, frozenset(access.ancestors(token.id)))
        ]
        return json_reply({"items": items, "next": None})

    def _shape(self, token: Token, caller: Caller, schedules: int = 0) -> TokenRow:
        access = self._hub.access
        shape = entity_json.token_shape(token, access.last_used_ms.get(token.id, 0))
        principal = access.principals.get(token.principal)
        holder: Holder | None = {"name": principal.name, "kind": principal.kind} if principal else None
        invited = token.kind == INVITATION
        used_ms, used_with = access.link_used(token.id) if invited else (0, "")
        return {
            **shape,
            "for": holder,
            "link_until": entity_json.iso(access.link_until_ms(token.id) if invited else 0),
            "link_used_at": entity_json.iso(used_ms),
            "link_used_with": used_with,
            "ends_asker": token.id in (caller.token, *access.ancestors(caller.token)),
            "made_with": token.parent,
            "schedules": schedules,
        }

    async def new_token(self, request: Request, body: NewToken) -> JsonReply[IssuedToken]:
        """Make a bearer token for oneself, or for a person, program or assistant by name; its text is shown this once.

        It has no more rights than the token that asks, and ends with it.
        """
        caller = caller_of(request)
        issued = await self._issue(caller, body, await asked_once(request))
        return json_reply({**self._shape(issued.token, caller), "token": issued.text}, 201)

    async def _issue(
        self, caller: Caller, body: NewToken, idempotency: tuple[str, str] | None = None, *, kind: str = BEARER
    ) -> issue.Issued:
        hub = self._hub
        if unknown := sorted(scope for scope in set(body.scopes) if not is_scope(scope)):
            reason = f"there is no scope {', '.join(unknown)}"
            raise Problem(Code.BAD_REQUEST, reason, hint=f"There are: {', '.join(Scope)} and {RECIPE}NAME.")
        names = sorted(scope.removeprefix(RECIPE) for scope in set(body.scopes) if scope.startswith(RECIPE))
        if missing := [name for name in names if hub.planner.recipe(name) is None]:
            hint = "`starloom recipe ls` has the names."
            raise Problem(Code.BAD_REQUEST, f"there is no recipe {', '.join(missing)}", hint=hint)
        refusal = may_issue(caller, body.role, frozenset(body.scopes))
        if refusal is not None:
            raise Problem(Code.FORBIDDEN, refusal)
        holder = await self._holder(caller, body)
        issued = issue.bearer(
            holder.id,
            body.role,
            hub.now_ms(),
            ttl_s=body.ttl_s,
            label=body.label,
            scopes=sorted(set(body.scopes)),
            parent=hub.access.tokens[caller.token],
            kind=kind,
        )
        item = inputs.TokenAdded(caller=caller.token, idempotency=idempotency, token=issued.token, **caller.signed())
        accepted(await hub.inbox.ask(item))
        return issued

    async def _holder(self, caller: Caller, body: NewToken) -> Principal:
        """Return the future holder of a token: the caller, or a named one, who is noted if new.

        Raises:
            Problem: only an owner gives tokens to others; the name is of another kind.
        """
        access = self._hub.access
        if not body.holder:
            return access.principals[caller.principal]
        name = unicodedata.normalize("NFC", body.holder)
        holder = access.named(name)
        if holder is not None and holder.id == caller.principal and body.kind in (None, holder.kind):
            return holder
        if caller.role is not Role.OWNER:
            raise Problem(Code.FORBIDDEN, "only an owner makes tokens for others", hint="Leave `for` out.")
        kind = body.kind or (holder.kind if holder else PrincipalKind.PERSON)
        if holder is None:
            wrong = person_name_fault(name)
            if wrong is not None:
                hint = f"Write it in one word, as in {'.'.join(name.split())[:64] or 'Ann'}."
                raise Problem(Code.BAD_REQUEST, wrong, hint=hint)
            alike = next((other for other in access.principals.values() if look_of(other.name) == look_of(name)), None)
            if alike is not None:
                reason = f"{name} looks like {alike.name}, who is here already"
                raise Problem(Code.CONFLICT, reason, hint="Use another name.")
            holder = issue.principal(name, kind, body.role, self._hub.now_ms())
            item = inputs.PrincipalAdded(principal=holder, **caller.signed())
            accepted(await self._hub.inbox.ask(item))
        if holder.kind is not kind:
            raise Problem(Code.CONFLICT, f"{holder.name} is a {holder.kind}, not a {kind}", hint="Use another name.")
        return holder

    async def revoke(self, request: Request, token: str) -> JsonReply[RevokedToken]:
        """Revoke a token or a session; open sockets of it are cut."""
        caller, access = caller_of(request), self._hub.access
        record = access.tokens.get(token)
        if record is None or not may_end(caller, record, frozenset(access.ancestors(token))):
            raise Problem(Code.NOT_FOUND, f"there is no token {token[:64]}", hint="See `starloom token ls`.")
        await self._revoke(caller, token)
        return json_reply({"id": token, "revoked": True})

    async def _revoke(self, caller: Caller, token: str) -> None:
        revoked = inputs.TokenRevoked(token=token, **caller.signed())
        accepted(await self._hub.inbox.ask(revoked))

    async def ticket(self, request: Request) -> JsonReply[LiveTicket]:
        """Give a single-use ticket that opens a live socket within 30 seconds."""
        return json_reply({"ticket": self._hub.tickets.issue(caller_of(request))}, 201)
