"""Routes of secrets: their metadata, setting and removing. No route here or anywhere returns a value.

The ciphertext is stored first, then an event names it; a ciphertext that loses a race, or is replaced, is deleted.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import Field, field_validator
from starlette.responses import Response

from starloom.core.state import inputs
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.routes.bodies import Body, Name
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, problem_of_faults
from starloom.edge.web.replies import JsonReply, Repeats, json_reply
from starloom_protocol.api.people import SecretRow, SetSecret
from starloom_protocol.api.service import Items
from starloom_protocol.records.access import SECRET_BYTES_MOST, SECRET_CHARS_LEAST, SECRET_NAME
from starloom_protocol.records.entities import Secret
from starloom_protocol.vocabulary import Code

_S = V1 + "/secrets"
_LISTED_MOST = 100
_MAY_STAND = frozenset({Code.STORE_UNAVAILABLE, Code.UNSETTLED})
Names = Annotated[list[Name], Field(max_length=_LISTED_MOST)]
SecretName = Annotated[str, Path(max_length=64)]


class NewValue(Body):
    """A value, and who may receive it. A list that is not given stays as it was; an empty one means any.

    `base_version` is the version that the caller saw; another one meanwhile is a conflict.
    """

    value: Annotated[str, Field(repr=False)]
    base_version: Annotated[int | None, Field(ge=0, le=1_000_000)] = None
    devices: Names | None = None
    recipes: Names | None = None
    tools: Names | None = None

    @field_validator("value")
    @classmethod
    def _usable(cls, value: str) -> str:
        if len(value.strip()) < SECRET_CHARS_LEAST:
            least = f"a value has at least {SECRET_CHARS_LEAST} characters"
            raise ValueError(f"{least}: hiding a shorter one would hide half of every text")
        if len(value.encode("utf-8", "surrogatepass")) > SECRET_BYTES_MOST:
            raise ValueError(f"a value has at most {SECRET_BYTES_MOST // 1024} KiB")
        if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise ValueError("a value is text without NUL")
        return value


class Secrets:
    def __init__(self, hub: Hub, repeats: Repeats) -> None:
        self._hub = hub
        self._repeats = repeats

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(_S, self.secrets, methods=["GET"])
        router.add_api_route(_S + "/{name}", self.put, methods=["PUT"])
        router.add_api_route(_S + "/{name}", self.remove, methods=["DELETE"], status_code=204)

    async def secrets(self) -> JsonReply[Items[SecretRow]]:
        """List the secrets: names, versions, who may receive them, last use. Their values are never shown."""
        records = sorted(self._hub.access.secrets.values(), key=lambda record: record.name)
        return json_reply({"items": [self._shape(record) for record in records], "next": None})

    async def put(self, request: Request, name: SecretName, body: NewValue) -> JsonReply[SetSecret]:
        """Set a secret, or replace its value. The answer has its metadata, never the value."""

        async def make() -> JsonReply[SetSecret]:
            hub, caller = self._hub, caller_of(request)
            if not SECRET_NAME.fullmatch(name):
                reason = "a name has letters, digits, `-`, `_` and `.`, begins with none of `-.`, and has at most 64"
                raise Problem(Code.BAD_REQUEST, reason)
            former = hub.access.secrets.get(name)
            devices = self._device_ids(body.devices) if body.devices is not None else former.devices if former else []
            version = former.version + 1 if former else 1
            cipher = await hub.vault.keep(name, version, body.value)
            item = inputs.SecretSet(
                base_version=body.base_version,
                cipher=cipher,
                devices=devices,
                name=name,
                recipes=body.recipes if body.recipes is not None else former.recipes if former else [],
                tools=body.tools if body.tools is not None else former.tools if former else [],
                version=version,
                **caller.signed(),
            )
            reply = await hub.inbox.ask(item)
            if reply.faults:
                # Where nobody knows whether the event stands, its value stays. The vault collects what none names.
                if not _MAY_STAND.intersection(fault.code for fault in reply.faults):
                    await hub.vault.forget(cipher)
                raise problem_of_faults(reply.faults)
            await self._forget(reply.value)
            record = hub.access.secrets.get(name)
            row: SetSecret = {"name": name, "version": version}
            if record is not None:
                row = {**self._shape(record)}
            return json_reply(row, 200 if former else 201)

        return await self._repeats.once(request, make)

    async def remove(self, request: Request, name: SecretName) -> Response:
        """Remove a secret; a task that needs it waits from then on."""
        caller = caller_of(request)
        item = inputs.SecretRemoved(name=name, **caller.signed())
        reply = await self._hub.inbox.ask(item)
        if reply.faults:
            raise problem_of_faults(reply.faults)
        await self._forget(reply.value)
        return Response(status_code=204)

    async def _forget(self, value: Any) -> None:
        replaced = value.get("replaced") if isinstance(value, dict) else None
        if replaced:
            await self._hub.vault.forget(replaced)

    def _device_ids(self, texts: list[str]) -> list[str]:
        devices = self._hub.fleet.devices
        by_name = {device.name: device.id for device in devices.values() if not device.revoked}
        unknown = [name for name in texts if name not in by_name and name not in devices]
        if unknown:
            raise Problem(Code.UNKNOWN_DEVICE, f"there is no device {unknown[0][:64]}")
        return [by_name.get(name, name) for name in texts]

    def _shape(self, record: Secret) -> SecretRow:
        devices = self._hub.fleet.devices
        return {
            "name": record.name,
            "version": record.version,
            "created_at": entity_json.iso(record.created_ms),
            "set_at": entity_json.iso(record.set_ms),
            "set_by": record.by,
            "last_used_at": entity_json.iso(record.last_used_ms) if record.last_used_ms else None,
            "devices": [
                {"id": name, "name": devices[name].name if name in devices else name} for name in record.devices
            ],
            "recipes": record.recipes,
            "tools": record.tools,
        }
