"""The routes of the REST API that a program calls: one function a route, with the type of its answer.

Generated from protocol/schema/openapi.json by `make gen`. To have one more, write its call first: the verb and the
nouns of its path. Sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from starloom.client.calls import Delete, Empty, Get, Patch, Post, Put

if TYPE_CHECKING:
    from starloom.client.answers import (
        NamedQuestionRowJson,
        RecipeTrendJson,
        ResultJson,
        RunReportJson,
        ScheduleRowJson,
        ScheduleTrendJson,
        SnapshotJson,
        TranscriptJson,
        VitalsJson,
    )
    from starloom_protocol.api.approvals import ChangingCalls, GivenAnswer, Revoked, StandingRow
    from starloom_protocol.api.constellations import (
        Comparison,
        ConstellationRow,
        Controlled,
        Edited,
        Stop,
        Stopped,
        WhyAll,
        WhyRow,
    )
    from starloom_protocol.api.fleet import (
        AskRow,
        Capability,
        DeviceDetail,
        DeviceRow,
        EnrollmentDetail,
        EnrollmentRow,
        Enrollments,
        NewEnrollment,
    )
    from starloom_protocol.api.history import ActivityRow, BlameRow, ChainCheck, Output, Replayed, Undone
    from starloom_protocol.api.lab import FaultAfter, FaultRow, Noted, Orders
    from starloom_protocol.api.models import ModelState
    from starloom_protocol.api.people import (
        IssuedToken,
        RevokedToken,
        RoleRow,
        SecretRow,
        SessionRow,
        SetSecret,
        SignInLink,
        TokenRow,
    )
    from starloom_protocol.api.previews import BriefText, Created, Forked, PastedPlan, RequestPreview, RunWhatIf, WhatIf
    from starloom_protocol.api.recipes import (
        ProposalList,
        RecipeChecked,
        RecipeNamed,
        RecipeRow,
        RecipeTried,
        RecipeVersionRow,
        RecipeWhole,
    )
    from starloom_protocol.api.schedules import RemovedSchedule, SchedulePreview
    from starloom_protocol.api.service import Items, LanRow


def _part(given: object) -> str:
    """Return an id as one part of a path."""
    return quote(str(given), safe=":")


def get_approvals(*, state: str | None = None) -> Get[Items[NamedQuestionRowJson]]:
    return Get("/approvals", {"state": state})


def post_approval_answer(approval: str) -> Post[GivenAnswer]:
    return Post(f"/approvals/{_part(approval)}/answer")


def post_approval_approve(approval: str) -> Post[GivenAnswer]:
    return Post(f"/approvals/{_part(approval)}/approve")


def get_approval_calls(approval: str) -> Get[ChangingCalls]:
    return Get(f"/approvals/{_part(approval)}/calls")


def post_approval_deny(approval: str) -> Post[GivenAnswer]:
    return Post(f"/approvals/{_part(approval)}/deny")


def get_asks(*, state: str | None = None) -> Get[Items[AskRow]]:
    return Get("/asks", {"state": state})


def post_ask_approve(ask: str) -> Post[AskRow]:
    return Post(f"/asks/{_part(ask)}/approve")


def post_ask_deny(ask: str) -> Post[AskRow]:
    return Post(f"/asks/{_part(ask)}/deny")


def get_audit(
    *,
    person: str | None = None,
    device: str | None = None,
    kind: str | None = None,
    constellation: str | None = None,
    q: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Get[Items[ActivityRow]]:
    return Get(
        "/audit",
        {
            "person": person,
            "device": device,
            "kind": kind,
            "constellation": constellation,
            "q": q,
            "cursor": cursor,
            "limit": limit,
        },
    )


def get_audit_verify(*, anchor: Sequence[str] | None = None) -> Get[ChainCheck]:
    return Get("/audit/verify", {"anchor": anchor})


def get_brief(*, request: str | None = None) -> Get[BriefText]:
    return Get("/brief", {"request": request})


def post_brief() -> Post[PastedPlan]:
    return Post("/brief")


def get_capabilities() -> Get[Items[Capability]]:
    return Get("/capabilities")


def get_constellations(
    *,
    state: Sequence[str] | None = None,
    q: str | None = None,
    device: str | None = None,
    of: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
    tries: bool | None = None,
    by_caller: bool | None = None,
) -> Get[Items[ConstellationRow]]:
    return Get(
        "/constellations",
        {
            "state": state,
            "q": q,
            "device": device,
            "of": of,
            "cursor": cursor,
            "limit": limit,
            "tries": tries,
            "by_caller": by_caller,
        },
    )


def post_constellations() -> Post[Created]:
    return Post("/constellations")


def post_constellations_preview() -> Post[RequestPreview]:
    return Post("/constellations/preview")


def get_constellation(constellation: str, *, version: int | None = None) -> Get[SnapshotJson]:
    return Get(f"/constellations/{_part(constellation)}", {"version": version})


def get_constellation_blame(constellation: str, *, task: str | None = None) -> Get[Items[BlameRow]]:
    return Get(f"/constellations/{_part(constellation)}/blame", {"task": task})


def post_constellation_cancel(constellation: str) -> Post[Controlled]:
    return Post(f"/constellations/{_part(constellation)}/cancel")


def get_constellation_diff(constellation: str, *, from_: int, to: int) -> Get[Comparison]:
    return Get(f"/constellations/{_part(constellation)}/diff", {"from": from_, "to": to})


def post_constellation_edits(constellation: str) -> Post[Edited]:
    return Post(f"/constellations/{_part(constellation)}/edits")


def post_constellation_fork(constellation: str) -> Post[Forked]:
    return Post(f"/constellations/{_part(constellation)}/fork")


def post_constellation_pause(constellation: str) -> Post[Controlled]:
    return Post(f"/constellations/{_part(constellation)}/pause")


def get_constellation_replay(constellation: str) -> Get[Replayed]:
    return Get(f"/constellations/{_part(constellation)}/replay")


def get_constellation_report(constellation: str, *, spans: bool | None = None) -> Get[RunReportJson]:
    return Get(f"/constellations/{_part(constellation)}/report", {"spans": spans})


def get_constellation_result(constellation: str) -> Get[ResultJson]:
    return Get(f"/constellations/{_part(constellation)}/result")


def post_constellation_resume(constellation: str) -> Post[Controlled]:
    return Post(f"/constellations/{_part(constellation)}/resume")


def get_constellation_task_attempt_log(
    constellation: str,
    task: str,
    attempt: int,
    *,
    offset: int | None = None,
    tail: int | None = None,
    q: str | None = None,
) -> Get[Output]:
    return Get(
        f"/constellations/{_part(constellation)}/tasks/{_part(task)}/attempts/{_part(attempt)}/log",
        {"offset": offset, "tail": tail, "q": q},
    )


def post_constellation_task_action(constellation: str, task: str, action: str) -> Post[Controlled]:
    return Post(f"/constellations/{_part(constellation)}/tasks/{_part(task)}/{_part(action)}")


def get_constellation_transcript(constellation: str, *, texts: bool | None = None) -> Get[TranscriptJson]:
    return Get(f"/constellations/{_part(constellation)}/transcript", {"texts": texts})


def post_constellation_undo(constellation: str) -> Post[Undone]:
    return Post(f"/constellations/{_part(constellation)}/undo")


def get_constellation_what_if(constellation: str, *, tasks: bool | None = None) -> Get[RunWhatIf]:
    return Get(f"/constellations/{_part(constellation)}/what-if", {"tasks": tasks})


def post_constellation_what_if(constellation: str) -> Post[RunWhatIf]:
    return Post(f"/constellations/{_part(constellation)}/what-if")


def get_constellation_why(constellation: str, *, task_id: str | None = None) -> Get[WhyAll | WhyRow]:
    return Get(f"/constellations/{_part(constellation)}/why", {"task_id": task_id})


def get_devices(*, all_: bool | None = None) -> Get[Items[DeviceRow]]:
    return Get("/devices", {"all": all_})


def get_device(device: str) -> Get[DeviceDetail]:
    return Get(f"/devices/{_part(device)}")


def patch_device(device: str) -> Patch[DeviceRow]:
    return Patch(f"/devices/{_part(device)}")


def post_device_action(device: str, action: str) -> Post[DeviceRow]:
    return Post(f"/devices/{_part(device)}/{_part(action)}")


def get_enrollments() -> Get[Enrollments]:
    return Get("/enrollments")


def post_enrollments() -> Post[NewEnrollment]:
    return Post("/enrollments")


def get_enrollment(enrollment: str) -> Get[EnrollmentDetail]:
    return Get(f"/enrollments/{_part(enrollment)}")


def post_enrollment_approve(enrollment: str) -> Post[EnrollmentRow]:
    return Post(f"/enrollments/{_part(enrollment)}/approve")


def post_enrollment_deny(enrollment: str) -> Post[EnrollmentRow]:
    return Post(f"/enrollments/{_part(enrollment)}/deny")


def post_lab_faults() -> Post[FaultRow]:
    return Post("/lab/faults")


def post_lab_fault_report(fault: str, report: str) -> Post[FaultAfter]:
    return Post(f"/lab/faults/{_part(fault)}/{_part(report)}")


def post_lab_notes() -> Post[Noted]:
    return Post("/lab/notes")


def post_lab_orders() -> Post[Orders]:
    return Post("/lab/orders")


def get_lan() -> Get[LanRow]:
    return Get("/lan")


def get_model() -> Get[ModelState]:
    return Get("/model")


def get_people() -> Get[Items[RoleRow]]:
    return Get("/people")


def patch_person(name: str) -> Patch[RoleRow]:
    return Patch(f"/people/{_part(name)}")


def get_recipe_proposals() -> Get[ProposalList]:
    return Get("/recipe-proposals")


def delete_recipe_proposal(proposal: str) -> Delete[Empty]:
    return Delete(f"/recipe-proposals/{_part(proposal)}")


def get_recipes() -> Get[Items[RecipeRow]]:
    return Get("/recipes")


def post_recipes() -> Post[RecipeChecked]:
    return Post("/recipes")


def post_recipes_check() -> Post[RecipeTried]:
    return Post("/recipes/check")


def get_recipe(name: str, *, version: int | None = None) -> Get[RecipeWhole]:
    return Get(f"/recipes/{_part(name)}", {"version": version})


def delete_recipe(name: str, *, anyway: bool | None = None) -> Delete[Empty]:
    return Delete(f"/recipes/{_part(name)}", {"anyway": anyway})


def get_recipe_runs(name: str, *, limit: int | None = None) -> Get[RecipeTrendJson]:
    return Get(f"/recipes/{_part(name)}/runs", {"limit": limit})


def post_recipe_seen(name: str) -> Post[RecipeNamed]:
    return Post(f"/recipes/{_part(name)}/seen")


def get_recipe_versions(name: str) -> Get[Items[RecipeVersionRow]]:
    return Get(f"/recipes/{_part(name)}/versions")


def post_schedule_notices_seen() -> Post[Items[ScheduleRowJson]]:
    return Post("/schedule-notices/seen")


def post_schedule_preview() -> Post[SchedulePreview]:
    return Post("/schedule-preview")


def get_schedule_run(schedule: str, *, limit: int | None = None) -> Get[ScheduleTrendJson]:
    return Get(f"/schedule-runs/{_part(schedule)}", {"limit": limit})


def get_schedules() -> Get[Items[ScheduleRowJson]]:
    return Get("/schedules")


def post_schedules() -> Post[ScheduleRowJson]:
    return Post("/schedules")


def get_schedule(schedule: str) -> Get[ScheduleRowJson]:
    return Get(f"/schedules/{_part(schedule)}")


def patch_schedule(schedule: str) -> Patch[ScheduleRowJson]:
    return Patch(f"/schedules/{_part(schedule)}")


def delete_schedule(schedule: str) -> Delete[RemovedSchedule]:
    return Delete(f"/schedules/{_part(schedule)}")


def post_schedule_action(schedule: str, action: str) -> Post[ScheduleRowJson]:
    return Post(f"/schedules/{_part(schedule)}/{_part(action)}")


def get_secrets() -> Get[Items[SecretRow]]:
    return Get("/secrets")


def put_secret(name: str) -> Put[SetSecret]:
    return Put(f"/secrets/{_part(name)}")


def delete_secret(name: str) -> Delete[Empty]:
    return Delete(f"/secrets/{_part(name)}")


def get_session() -> Get[SessionRow]:
    return Get("/session")


def post_sign_in_links() -> Post[SignInLink]:
    return Post("/sign-in-links")


def get_standing_approvals() -> Get[Items[StandingRow]]:
    return Get("/standing-approvals")


def delete_standing_approval(standing: str) -> Delete[Revoked]:
    return Delete(f"/standing-approvals/{_part(standing)}")


def get_stop_all() -> Get[Stop]:
    return Get("/stop-all")


def post_stop_all() -> Post[Stopped]:
    return Post("/stop-all")


def get_tokens() -> Get[Items[TokenRow]]:
    return Get("/tokens")


def post_tokens() -> Post[IssuedToken]:
    return Post("/tokens")


def delete_token(token: str) -> Delete[RevokedToken]:
    return Delete(f"/tokens/{_part(token)}")


def get_vitals(*, device: Sequence[str] | None = None) -> Get[VitalsJson]:
    return Get("/vitals", {"device": device})


def post_what_if() -> Post[WhatIf]:
    return Post("/what-if")
