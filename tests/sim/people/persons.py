"""People with roles: they put work on clocks, keep secrets, give and take rights, stop everything, and answer."""

from __future__ import annotations

import asyncio
import random
from typing import Any, Final

from msgspec.structs import replace

from starloom.core.clock.schedules import work_digest
from starloom.core.people.approvals.need import seen_hash
from starloom.core.state import inputs as i
from starloom.edge.access.callers import SESSION, Caller, Means
from starloom.edge.routes.people.secrets import NewValue
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Enrollment, SignIn
from starloom_protocol.records.schedules import Schedule
from starloom_protocol.stream.authors import author_of
from starloom_protocol.vocabulary import CatchUp, Code, ConstellationState, NotifyWhen, Overlap, Role, ScheduleState
from tests.sim.client import Client, Told
from tests.sim.people import plans, recipes
from tests.sim.people.door import Door
from tests.sim.people.site import ROLES, STEWARD, Peopled
from tests.sim.script import PEOPLE_S, Act

CRONS: Final = ("* * * * *", "* * * * *", "* * * * *", "*/2 * * * *", "0 3 * * *")
LASTS_S: Final = PEOPLE_S + 200
"""Clocks go on for a while when nothing is broken any more."""
GIVEN: Final = (Role.OWNER, *[Role.OPERATOR] * 3, Role.APPROVER, Role.VIEWER, Role.VIEWER)
_TRY_AGAIN: Final = frozenset({Code.STORE_UNAVAILABLE, Code.UNSETTLED, Code.OVERLOADED, Code.CONFLICT})


class Person(Client):
    """One person doing one thing with one of its tokens."""

    def __init__(self, site: Peopled, act: Act, told: Told) -> None:
        super().__init__(site, act, told)
        self._site = site
        wallet = site.wallets.get(act.person, [""])
        good = [text for text in wallet if site.caller(text) is not None]
        # Most people use a token that is good; some have not heard that theirs has ended.
        texts = good if good and self._chance.random() < 0.8 else wallet
        self._door = Door(site, self._chance.choice([*texts[:1], *texts]))
        self.site = self._door  # type: ignore[assignment]

    async def do(self) -> None:
        acts = {
            "submit": self.submit,
            "reply": self._reply,
            "save": self._save,
            "change": self._change,
            "clock": self._clock,
            "secret": self._secret,
            "unset": self._unset,
            "role": self._role,
            "token": self._token_added,
            "untoken": self._token_revoked,
            "undo": self._undo,
            "fork": self._fork,
            "stop_all": self._stop_all,
            "unstanding": self._unstanding,
            "draft": self._draft,
            "code": self._code,
            "sign_in": self._sign_in,
            "words": self._words,
            "name": self._name,
            "device": self._device,
            "decide": self._decide,
            "recipe": self._recipe,
            "unrecipe": self._unrecipe,
            "run": self._run,
        }
        own = acts.get(self._act.kind)
        await (own() if own is not None else super().do())

    def _planned(self) -> LoweredPlan:
        return plans.make(self._chance, self._devices())

    def _devices(self) -> list[str]:
        return [device[2:] for device in self._site.named]

    async def submit(self) -> None:
        """Submit under an idempotency key until told; a plan may be refused for the rights of who sends it."""
        await self._submit(self._planned())

    async def _submit(self, made: LoweredPlan) -> None:
        key = self._token()
        for attempt in range(8):
            reply = await self._door.ask(
                i.RequestReceived(
                    id=self._site.ident(), by="", constellation=f"c-{key}-{attempt}", plan=made, idempotency=(key, key)
                )
            )
            if reply is not None and not reply.faults:
                name = reply.value["id"]
                self._told.accepted[name] = made
                if name not in self._site.history.streams:
                    self._told.problems.append(f"{name} was accepted before it was durable")
                return
            if reply is not None and reply.faults[0].code not in _TRY_AGAIN:
                return
            await asyncio.sleep(self._chance.uniform(0.2, 3.0))

    # Clocks.

    def _schedules(self) -> list[Schedule]:
        engine = self._site.engine
        return list(engine.shard.fleet.schedules.values()) if engine is not None else []

    def _caller(self) -> Caller | None:
        return self._site.caller(self._door.text)

    def _chosen(self, caller: Caller, name: str) -> Schedule:
        overlap = self._chance.choice(list(Overlap))
        makes_up = list(CatchUp) if overlap in (Overlap.QUEUE, Overlap.ALLOW) else [CatchUp.LAST, CatchUp.NONE]
        return Schedule(
            author=caller.by,
            catch_up=self._chance.choice(makes_up),
            created_ms=0,
            cron=self._chance.choice(CRONS),
            deadline_s=self._chance.choice([0, 0, 20, 90]),
            id=f"s-{name}",
            name=name,
            notify=self._chance.choice(list(NotifyWhen)),
            overlap=overlap,
            owner=caller.principal,
            token=_binding(caller),
            zone="UTC",
        )

    def _hash(self, made: LoweredPlan, by: str) -> str | None:
        engine = self._site.engine
        if engine is None or self._chance.random() < 0.1:
            return None
        return seen_hash(engine.shard.fleet, made, by=by)

    async def _save(self) -> None:
        made, key = self._planned(), self._token()
        caller = self._caller()
        if caller is None:
            return
        chosen, engine = self._chosen(caller, key), self._site.engine
        recipe = self._chance.choice([None, *recipes.NAMES])
        version = recipes.newest(engine.shard, recipe) if engine is not None and recipe is not None else None
        if version is not None:
            chosen, made = replace(chosen, recipe=recipe), recipes.plan_of(version)
        for _ in range(8):
            reply = await self._door.ask(
                i.ScheduleSaved(
                    id=self._site.ident(),
                    by="",
                    idempotency=(key, key),
                    keep_plan=version is None,
                    plan=made,
                    plan_hash=self._hash(made, caller.by),
                    schedule=chosen,
                )
            )
            if reply is not None and (not reply.faults or reply.faults[0].code not in _TRY_AGAIN):
                return
            await asyncio.sleep(self._chance.uniform(0.2, 3.0))

    async def _change(self) -> None:
        there, caller, engine = self._schedules(), self._caller(), self._site.engine
        made, some = self._planned(), self._chance.random()
        if not there or caller is None or engine is None:
            return
        old = self._chance.choice(there)
        version = recipes.newest(engine.shard, old.recipe) if old.recipe is not None else None
        if old.recipe is not None and version is None:
            return
        new = self._chosen(caller, old.name)
        fields = self._chance.choice([["overlap", "catch_up"], ["cron"], ["deadline_s", "notify"], ["overlap"]])
        plan = engine.shard.fleet.scheduled_plans.get(old.id)
        base = work_digest(old, plan)
        if some < 0.5 and plan is not None:
            made = plans.kept(plan.plan)
        if version is not None:
            made = recipes.plan_of(version)
        await self._door.ask(
            i.ScheduleSaved(
                id=self._site.ident(),
                by="",
                base=base,
                change=True,
                given=["author", "owner", "token", *fields],
                keep_plan=version is None,
                plan=made,
                plan_hash=self._hash(made, caller.by),
                schedule=plans.renamed(new, old),
            )
        )

    async def _clock(self) -> None:
        there, caller = self._schedules(), self._caller()
        action = self._chance.choices(["pause", "resume", "run", "remove", "seen"], [3, 4, 6, 1, 2])[0]
        if there and caller is not None:
            await self._control_clock(self._chance.choice(there).id, action, caller)

    async def _control_clock(self, schedule: str, action: str, caller: Caller) -> None:
        await self._door.ask(
            i.ScheduleControlled(
                id=self._site.ident(),
                by="",
                action=action,
                owner=caller.principal,
                schedule=schedule,
                token=_binding(caller),
            )
        )

    # Recipes.

    async def _recipe(self) -> None:
        """Keep a recipe, or its next version; often one of one's own that the clock of somebody runs."""
        engine, name, made = self._site.engine, self._chance.choice(recipes.NAMES), self._planned()
        if engine is not None:
            before = recipes.newest(engine.shard, name)
            base = before.number if before is not None else 0
            await self._door.ask(recipes.saving(self._site.ident(), name, made, base))

    async def _unrecipe(self) -> None:
        name, anyway = self._chance.choice(recipes.NAMES), self._chance.random() < 0.7
        await self._door.ask(i.RecipeRemoved(id=self._site.ident(), by="", anyway=anyway, name=name))

    async def _run(self) -> None:
        """Ask for what a recipe does."""
        key, name = self._token(), self._chance.choice(recipes.NAMES)
        item = i.RequestReceived(id=self._site.ident(), by="", constellation=f"r-{key}", recipe=name)
        await self._door.ask(item)

    # Rights and secrets.

    async def _secret(self) -> None:
        chance, name = self._chance, self._chance.choice(plans.SECRETS)
        body = NewValue(
            value=f"{name} of {self._token()}",
            devices=chance.choice([None, [], [chance.choice(list(self._site.agents))]]),
            recipes=chance.choice([None, [], [], [chance.choice(recipes.NAMES)]]),
            tools=chance.choice([None, [], [], ["t.pure", "t.idem"]]),
        )
        await self._door.set_secret(name, body)

    async def _unset(self) -> None:
        await self._door.remove_secret(self._chance.choice(plans.SECRETS))

    async def _role(self) -> None:
        name = self._chance.choice([one for one in ROLES if one != STEWARD])
        role = self._chance.choice(GIVEN)
        await self._door.ask(i.RoleGiven(id=self._site.ident(), by="", principal=f"p-{name}", role=role))

    async def _token_added(self) -> None:
        """Issue a token below one's own; an owner gives others one."""
        caller = self._caller()
        scopes = self._chance.choice([(), (), ("read", "run")])
        ttl_s = self._chance.choice([0, 60, 150, 250])
        some = self._chance.choice(list(ROLES))
        if caller is None:
            return
        holder = some if caller.role is Role.OWNER else caller.name
        role = ROLES[holder][1] if caller.role is Role.OWNER else caller.role
        scopes = scopes or tuple(sorted(caller.scopes))
        token, text = self._site.issued(holder, role, caller.token, scopes, ttl_s)
        reply = await self._door.ask(i.TokenAdded(id=self._site.ident(), by="", token=token))
        if reply is not None and not reply.faults:
            self._site.wallets[holder].append(text)

    async def _sign_in(self) -> None:
        """Make a link and use it: a session that comes from one's own token."""
        caller = self._caller()
        if caller is None:
            return
        token, text = self._site.issued(
            caller.name, caller.role, caller.token, sorted(caller.scopes), ttl_s=600, kind=SESSION
        )
        until_ms = self._site.clock.now_ms() + 300_000
        link = SignIn(
            created_ms=self._site.clock.now_ms(),
            expires_ms=until_ms,
            id=f"l-{token.id}",
            parent=caller.token,
            principal=caller.principal,
            secret_hash="x",
        )
        reply = await self._door.ask(i.SignInOpened(id=self._site.ident(), by="", signin=link))
        if reply is None or reply.faults:
            return
        by = author_of(caller.kind, caller.name, token.id)
        used = i.SignInUsed(id=self._site.ident(), by=by, scope=caller.role, signin=link.id, token=token)
        reply = await self._site.ask(used)
        if reply is not None and not reply.faults:
            self._site.wallets[caller.name].append(text)

    async def _token_revoked(self) -> None:
        """Revoke one of one's own tokens, or, as an owner, one of anybody but the first of the steward."""
        caller, view = self._caller(), self._site.view
        if caller is None or view is None:
            return
        whole = caller.role is Role.OWNER and not caller.scopes
        mine = [one for one in view.tokens if whole or caller.token in (one, *view.ancestors(one))]
        mine = [one for one in mine if one != "k1"]
        if mine:
            await self._door.ask(i.TokenRevoked(id=self._site.ident(), by="", token=self._chance.choice(mine)))

    async def _code(self) -> None:
        """Open a code, by which a new machine asks to join; it may ask by another open one as well."""
        caller = self._caller()
        if caller is None:
            return
        name, until_ms = self._site.ident(), self._site.clock.now_ms() + 600_000
        code = Enrollment(
            code_hash=name,
            created_ms=0,
            expires_ms=until_ms,
            id=name,
            owner=caller.principal,
            preapproved=self._chance.random() < 0.5,
            token=_binding(caller) or "",
        )
        reply = await self._door.ask(i.EnrollmentOpened(id=self._site.ident(), by="", enrollment=code))
        if reply is None or reply.faults or self._chance.random() < 0.3:
            return
        device, engine = self._site.new_machine(), self._site.engine
        codes = [one for one in engine.shard.fleet.enrollments.values() if one.state == "open"] if engine else []
        for one in dict.fromkeys([name, *[self._chance.choice(codes).id for _ in codes[:1]]]):
            await asyncio.sleep(self._chance.choice([0.0, 5.0]))
            await self._site.ask_to_join(device, one)
        self._site.boot_agent(device)
        for _ in range(2):
            await asyncio.sleep(self._chance.choice([0.0, 5.0, 20.0]))
            await self._decide()
            await asyncio.sleep(self._chance.choice([5.0, 20.0, 60.0]))
            await self._device(device)

    async def _decide(self) -> None:
        """Let devices in that ask to join, or not."""
        engine = self._site.engine
        found = list(engine.shard.fleet.enrollments.values()) if engine is not None else []
        for code in [one.id for one in found if one.state == "asking"]:
            allow = self._chance.random() < 0.8
            await self._door.ask(i.EnrollmentDecided(id=self._site.ident(), by="", allow=allow, enrollment=code))

    async def _device(self, name: str = "") -> None:
        """Control a device: most often one that came later, which no plan names."""
        engine, site = self._site.engine, self._site
        there = list(engine.shard.fleet.devices.values()) if engine is not None else []
        later = [one for one in there if one.id not in site.named]
        if not there:
            return
        some = later if later and self._chance.random() < 0.7 else there
        device = self._chance.choice([one for one in later if one.id == name] or some)
        action = self._chance.choice(["reserve", "share", "seen", "label", "rename", "reserve"])
        if device in later and self._chance.random() < 0.6:
            action = self._chance.choice(["revoke", "revoke", "forget", "leave"])
        values = {"label": '["kitchen"]', "rename": f"{device.name}-{self._chance.randint(1, 3)}"}
        item = i.DeviceControlled(
            id=site.ident(), by="", action=action, device=device.id, reason="asked", value=values.get(action, "")
        )
        if action == "leave":
            await site.ask(replace(item, by=f"device:{device.id}", scope="device"))
        else:
            await self._door.ask(item)

    async def _words(self) -> None:
        """Ask in words: nobody plans here, so the request waits until it is cancelled."""
        name = f"w-{self._token()}"
        await self._door.ask(i.RequestReceived(id=self._site.ident(), by="", constellation=name, request="look"))

    async def _stop_all(self) -> None:
        await self._door.ask(i.StopAllRequested(id=self._site.ident(), by="", reason="stop"))

    async def _unstanding(self) -> None:
        engine = self._site.engine
        there = list(engine.shard.fleet.standing) if engine is not None else []
        if there:
            standing = self._chance.choice(there)
            await self._door.ask(i.StandingRevoked(id=self._site.ident(), by="", standing=standing))

    async def _undo(self) -> None:
        """Have work taken back, often that of a fork, which has done only a part of what it shows, or of a clock."""
        engine = self._site.engine
        ended = [name for name in self._site.history.rows if engine is not None and name not in engine.shard.live]
        forks = [name for name in ended if name in self._told.forks]
        undoable = [name for name in ended if _says_undo(self._told.accepted.get(name))]
        if ended:
            name = self._chance.choice(forks or undoable or ended)
            await self._door.ask(i.UndoRequested(id=self._site.ident(), by="", constellation=name))

    async def _fork(self) -> None:
        """Begin anew from where something stands, and often take that back."""
        await self.fork()
        await asyncio.sleep(self._chance.choice([1.0, 10.0, 40.0]))
        if self._chance.random() < 0.6:
            await self._undo()

    async def _draft(self) -> None:
        found = self._some_live()
        if found is None:
            return
        tasks = list(found.tasks)[:1]
        ttl_s = self._chance.choice([5, 60, 120])
        opened = i.DraftOpened(id=self._site.ident(), by="", constellation=found.name, tasks=tasks, ttl_s=ttl_s)
        await self._door.ask(opened)
        await asyncio.sleep(self._chance.choice([0.5, 20.0]))
        if self._chance.random() < 0.5:
            await self._door.ask(i.DraftClosed(id=self._site.ident(), by="", constellation=found.name))

    async def _name(self) -> None:
        """Begin something long, give names to further calls of it, and those that a restore has lost to others."""
        live = set(self._told.accepted)
        await self._submit(plans.long())
        names = [name for name in self._told.accepted if name not in live and name.startswith(f"c-{self._token()}-")]
        for _ in range(10 if names else 0):
            await asyncio.sleep(self._chance.choice([0.5, 4.0, 15.0, 25.0]))
            await self._resume_restored()
            engine = self._site.engine
            there = engine.shard.constellations.get(names[0]) if engine is not None else None
            name = next((one for one in plans.NAMES if there is not None and one not in there.specs), "")
            operation = plans.named(self._chance, name, self._devices())
            if there is not None and name:
                await self._door.ask(
                    i.EditProposed(
                        id=self._site.ident(),
                        by="",
                        base_version=there.head.version,
                        constellation=there.name,
                        operations=[operation],
                        reason=self._token(),
                    )
                )

    async def _resume_restored(self) -> None:
        """Let go on what a restore has paused."""
        engine = self._site.engine
        held = list(engine.shard.constellations.values()) if engine is not None else []
        for name in [one.name for one in held if one.head.state is ConstellationState.PAUSED]:
            await self._do(name, "resume", None)

    def _some_live(self) -> Any:
        engine = self._site.engine
        names = list(engine.shard.live) if engine is not None else []
        return engine.shard.constellations[self._chance.choice(names)] if engine is not None and names else None

    # Answers.

    async def _reply(self, share: float = 0.8) -> None:
        engine = self._site.engine
        if engine is None:
            return
        found = [engine.shard.constellations[name] for name in engine.shard.live]
        asked = [(one.name, key, bool(one.questions[key].calls)) for one in found for key in one.open_questions]
        for name, key, has_calls in asked:
            if self._chance.random() < share:
                value = self._chance.choices(["allow", "always", "deny"], [4, 12 if has_calls else 0, 1])[0]
                answer = i.QuestionAnswered(
                    id=self._site.ident(), by="", anyway=True, constellation=name, question=key, value=value
                )
                await self._door.ask(answer)
        await self._answer_devices(share)

    async def _answer_devices(self, share: float) -> None:
        """Answer what devices ask their owners."""
        engine = self._site.engine
        asked = list(engine.shard.fleet.asks.items()) if engine is not None else []
        for device, ask in [(device, ask) for device, asks in asked for ask in asks.open if not ask.answer]:
            if self._chance.random() < share:
                item = i.OwnerAskAnswered(
                    id=self._site.ident(),
                    by="",
                    action=ask.action,
                    allow=self._chance.random() < 0.8,
                    ask=ask.id,
                    device=device,
                )
                await self._door.ask(item)

    async def finish(self) -> None:
        """What the steward does after the chaos, so that everything comes to its end."""
        await Steward(self._site, self._told, self._chance).finish()


class Steward(Person):
    """The first owner, who lets go of what is held, answers, sets what is missing, and at last stops the clocks."""

    def __init__(self, site: Peopled, told: Told, chance: random.Random) -> None:
        super().__init__(site, Act(0.0, "finish", STEWARD, 0, chance.getrandbits(32)), told)
        self._door.text = site.wallets[STEWARD][0]

    async def finish(self) -> None:
        engine, caller = self._site.engine, self._caller()
        if engine is None or caller is None:
            return
        await Client.finish(self)
        await self._reply(0.7)
        for device in [one for one in engine.shard.fleet.devices.values() if one.reserved and not one.revoked]:
            await self._of_device(device.id, "share", -1)
        late = asyncio.get_running_loop().time() > LASTS_S
        for schedule in self._schedules():
            if late and schedule.state is ScheduleState.ACTIVE:
                await self._control_clock(schedule.id, "pause", caller)
        for name in [name for name in engine.shard.live if late and name.startswith("w-")]:
            await self._do(name, "cancel", None)
        access = engine.shard.access
        for name in plans.SECRETS if late and engine.shard.demands else ():
            record = access.secrets.get(name)
            if record is None or record.devices or record.tools or record.recipes:
                body = NewValue(value=f"{name} of {self._site.ident()}", devices=[], recipes=[], tools=[])
                await self._door.set_secret(name, body)


def _says_undo(plan: LoweredPlan | None) -> bool:
    return plan is not None and any(spec.undo is not None for spec in plan.specs)


def _binding(caller: Caller) -> str | None:
    """Return the token whose rights bind what a caller leaves behind; a session binds by the one that it comes from."""
    return caller.token if caller.means is Means.BEARER else caller.root or None
