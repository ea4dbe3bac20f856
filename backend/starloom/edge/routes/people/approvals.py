"""Routes of approvals: open questions to people, answered ones, and standing approvals.

Translates and passes on: the core decides whether an answer counts.
"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request

from starloom.core.people.inquiries import KIND as PLANNER
from starloom.core.placement.absent_devices import lost_words
from starloom.core.rights.call_effects import taking_away
from starloom.core.state import inputs
from starloom.edge.access.credentials import new_id
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.routes.bodies import Answered, Approved, Reasoned
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.api.approvals import CallRow, ChangingCalls, GivenAnswer, NamedQuestionRow, Revoked, StandingRow
from starloom_protocol.api.service import Items
from starloom_protocol.records.approvals import Standing
from starloom_protocol.records.entities import Question, TaskSpec, decode_entity
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Effect

CALLS_SHOWN_MOST = 100
"""Beyond these a person reads the plan itself, which has them all."""
_OF_THE_PLAN = ("dep/", "spec/")


class Approvals:
    """Routes that ask a person and take the answer."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/approvals", self.questions, methods=["GET"])
        router.add_api_route(V1 + "/approvals/{approval}/calls", self.calls, methods=["GET"])
        router.add_api_route(V1 + "/approvals/{approval}/approve", self.approve, methods=["POST"])
        router.add_api_route(V1 + "/approvals/{approval}/deny", self.deny, methods=["POST"])
        router.add_api_route(V1 + "/approvals/{approval}/answer", self.answer, methods=["POST"])
        router.add_api_route(V1 + "/standing-approvals", self.standing, methods=["GET"])
        router.add_api_route(V1 + "/standing-approvals/{standing}", self.revoke, methods=["DELETE"])

    async def questions(self, state: Literal["open", "answered"] = "open") -> JsonReply[Items[NamedQuestionRow]]:
        """List open questions, the oldest first: approvals and tasks for people; or those lately answered here."""
        view = self._hub.questions
        if state == "open":
            questions = sorted(view.open.items(), key=lambda item: (item[1].opened_ms, item[0]))
        else:
            questions = sorted(view.answered.items(), key=lambda item: (-item[1].answered_ms, item[0]))
        items: list[NamedQuestionRow] = []
        for (constellation, _), question in questions:
            headline = await self._hub.headlines.of(constellation)
            name, author = (headline.head.name, headline.head.author) if headline else ("", "")
            taking = await self._taking_away(constellation, question) if state == "open" else []
            only = await self._asked_alone(constellation, question) if state == "open" else []
            shape = entity_json.question_shape(constellation, question)
            about: NamedQuestionRow = {
                **shape,
                "author": author,
                "constellation_name": name,
                "only": only,
                "takes_away": taking,
            }
            items.append(about)
        return json_reply({"items": items, "next": None})

    async def _asked_alone(self, constellation: str, question: Question) -> list[str]:
        """Return the people whose answer alone counts, by the plan as it is now."""
        if question.task is None:
            return []
        key = f"spec/{question.task}"
        records = await self._hub.reads.live_records(constellation, [key])
        spec = decode_entity(key, records[key]) if key in records else None
        return list(spec.ask) if isinstance(spec, TaskSpec) else []

    async def _taking_away(self, constellation: str, question: Question) -> list[str]:
        """Return the choices after which files leave their place, by the plan as it is now."""
        if question.task is None or len(question.choices) < 2:
            return []
        state = await self._hub.reads.entities(constellation)
        entities = state.entities if state is not None else {}
        plan = {key: raw for key, raw in entities.items() if key.startswith(_OF_THE_PLAN)}
        record = entity_json.Constellation(constellation, 0, plan)
        specs = record.table("spec")
        changing = self._hub.planner.changing_calls([*specs.values()], ())
        destroying = {call.task for call in changing if Effect.DESTROY in call.effects}
        return taking_away(question.task, specs, record.table("dep").values(), destroying)

    async def calls(self, approval: str) -> JsonReply[ChangingCalls]:
        """List the calls that the plan of an approval would make and that do more than read, with their arguments."""
        constellation, _ = await self._find(approval)
        state = await self._hub.reads.entities(constellation)
        record = entity_json.Constellation(constellation, 0, state.entities if state is not None else {})
        fleet = self._hub.fleet
        specs = [*record.table("spec").values()]
        calls = self._hub.planner.changing_calls(
            specs, record.table("rule").values(), record.table("approved").get("plan")
        )
        items: list[CallRow] = []
        for call in calls[:CALLS_SHOWN_MOST]:
            device_names = [fleet.devices[name].name if name in fleet.devices else name for name in call.devices]
            items.append({**entity_json.call_shape(call), "devices": device_names})
        lost_devices = lost_words(fleet.devices, specs)
        single_tasks = [spec for spec in specs if spec.key is None and not spec.look]  # a group stands for its children
        ungranted = self._hub.planner.ungranted(single_tasks, record.table("dep").values())
        return json_reply({"items": items, "more": len(calls) - len(items), "gone": lost_devices, "held": ungranted})

    async def approve(self, request: Request, approval: str, body: Approved | None = None) -> JsonReply[GivenAnswer]:
        """Allow it, this once or always; where devices of the plan are gone, only with `anyway`."""
        answer = body or Approved()
        value = "always" if answer.always else "allow"
        return await self._answer(request, approval, value, answer.reason, anyway=answer.anyway)

    async def deny(self, request: Request, approval: str, body: Reasoned | None = None) -> JsonReply[GivenAnswer]:
        """Deny it; the reason goes into the log."""
        return await self._answer(request, approval, "deny", body.reason if body else "")

    async def answer(self, request: Request, approval: str, body: Answered) -> JsonReply[GivenAnswer]:
        """Answer a question with one of its choices."""
        return await self._answer(request, approval, body.value, body.reason)

    async def _answer(
        self, request: Request, approval: str, value: str, reason: str, *, anyway: bool = False
    ) -> JsonReply[GivenAnswer]:
        caller = caller_of(request)
        constellation, question = await self._find(approval)
        choice = _choice(question, value)
        answered = inputs.QuestionAnswered(
            anyway=anyway,
            constellation=constellation,
            question=question.id,
            reason=reason,
            value=choice,
            **caller.signed(),
        )
        accepted(await self._hub.inbox.ask(answered))
        return json_reply({"id": f"{constellation}:{question.id}", "answer": choice})

    async def _find(self, approval: str) -> tuple[str, Question]:
        """Return (constellation, question) of `CONSTELLATION:QUESTION`, or of the one open question of this id or of
        this constellation.

        One that is answered is found too: the core knows whether the same answer is said again.
        """
        constellation, separator, name = approval.partition(":")
        matching = [
            (where[0], question)
            for where, question in self._hub.questions.open.items()
            if (where == (constellation, name) if separator else approval in where)
        ]
        if not matching and separator:
            state = await self._hub.reads.entities(constellation)
            raw = state.entities.get(f"question/{name}") if state is not None else None
            record = decode_entity(f"question/{name}", raw) if raw is not None else None
            if isinstance(record, Question):
                matching = [(constellation, record)]
        if len(matching) > 1:
            names = ", ".join(f"{where}:{question.id}" for where, question in matching)
            raise Problem(Code.CONFLICT, f"several questions are open for {approval}: {names}")
        if not matching:
            reason = f"no open question is called {approval[:128]}; it may be answered already"
            raise Problem(Code.NOT_FOUND, reason, hint="See `starloom approvals`.")
        return matching[0]

    async def standing(self) -> JsonReply[Items[StandingRow]]:
        """List the standing approvals, the newest first."""
        items = sorted(self._hub.fleet.standing.values(), key=lambda item: (-item.at_ms, item.id))
        return json_reply({"items": [self._standing_shape(item) for item in items], "next": None})

    async def revoke(self, request: Request, standing: str) -> JsonReply[Revoked]:
        """Revoke a standing approval: its call asks again from the next plan on."""
        item = inputs.StandingRevoked(by=caller_of(request).by, id=new_id(), standing=standing)
        accepted(await self._hub.inbox.ask(item))
        return json_reply({"id": standing})

    def _standing_shape(self, item: Standing) -> StandingRow:
        devices = self._hub.fleet.devices
        return {
            "id": item.id,
            "tool": item.tool,
            "args": parse(item.args),
            "devices": [{"id": name, "name": devices[name].name if name in devices else name} for name in item.devices],
            "effects": list(item.effects),
            "by": item.by,
            "at": entity_json.iso(item.at_ms),
            "constellation": item.constellation,
        }


def _choice(question: Question, value: str) -> str:
    """Return the value to answer with: `allow` and `deny` also stand for a question's only choice of their kind."""
    values = [choice.value for choice in question.choices]
    if not values or value in values or question.kind == PLANNER:  # which takes other words, too
        return value
    if value in ("allow", "always", "deny"):
        alike = [choice.value for choice in question.choices if choice.fails == (value == "deny")]
        if len(alike) == 1:
            return alike[0]
    hint = f'Answer with one of them, as `starloom approve ID --value {values[0]}` or {{"value": "{values[0]}"}} does.'
    raise Problem(Code.BAD_REQUEST, f"{value} is not one of the choices: {', '.join(values)}", hint=hint)
