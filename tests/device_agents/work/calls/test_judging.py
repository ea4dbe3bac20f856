"""The decision on a call before it runs: the owner's rule of courtesy comes first."""

from __future__ import annotations

from pathlib import Path

from starloom_agent.home.directory import AgentHome
from starloom_agent.policy.allowance import Allowance
from starloom_agent.sandbox.levels import NOT_TRIED
from starloom_agent.work.calls.judging import judge
from starloom_agent.work.ledger import DecisionRow
from starloom_agent.work.registry import all_tools
from starloom_protocol.vocabulary import Code, Outcome, Repeatability
from starloom_protocol.wire.frames import Dispatch, LeaseRef


def test_a_call_is_refused_where_the_owner_wants_none_now(tmp_path: Path) -> None:
    tool = next(tool for tool in all_tools() if tool.name == "system.info")
    allowance = Allowance(AgentHome.at(str(tmp_path)), [tool], NOT_TRIED, slots=1, say=print)
    dispatch = Dispatch(
        args="{}",
        at=LeaseRef(attempt=1, constellation="c", incarnation=1, task="t"),
        fence_after_s=0,
        repeatability=Repeatability.PURE.value,
        start_to_close_s=60,
        tool=tool.name,
    )
    rows: list[DecisionRow] = []
    assert judge(allowance, dispatch, tool, rows.append) is None
    allowance.refusal = lambda: "the owner of this device wants no new work now (in_use)"
    ended = judge(allowance, dispatch, tool, rows.append)
    assert ended is not None
    assert (ended.outcome, ended.code) == (Outcome.REFUSED, Code.POLICY_REFUSED)
    assert [row.allowed for row in rows] == [True, False]
