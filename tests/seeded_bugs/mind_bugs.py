"""Bugs over goals, turns, votes, judges, experience and successors: plausible slips that each break one promise."""

from __future__ import annotations

from tests.seeded_bugs.bug import CORE, MINDS, Bug

_CORE = "backend/starloom/core/"
_GOALS, _PLACEMENT = f"{_CORE}plan/goals/", f"{_CORE}placement/"
_FINDING_TESTS = "tests/core/plan/reuse"
_GOAL_TESTS, _PACE_TESTS = "tests/core/plan/goals", "tests/core/placement/test_pace.py"

MIND_BUGS = [
    # -- findings
    Bug(
        "a finding that is too old is taken as fresh",
        f"{_CORE}plan/reuse/findings.py",
        " and item.fresh_s and work.at_ms - found[1].at_ms > item.fresh_s * 1000:\n",
        " and item.fresh_s < 0:\n",
        CORE,
        _FINDING_TESTS,
    ),
    Bug(
        "a call is made again for each task that waits for it",
        f"{_CORE}plan/batches/topics.py",
        "            if item.topic in topics(source) and (source.again_of is None or item.fresh_s):\n",
        "            if item.topic in topics(source) and source.again_of is None:\n",
        CORE,
        _FINDING_TESTS,
    ),
    Bug(
        "a task takes a topic while another that publishes it runs",
        f"{_CORE}state/tasks/findings.py",
        "    if record.state in _FINAL:\n",
        "    if record.state in _FINAL or constellation.findings:\n",
        CORE,
        _FINDING_TESTS,
    ),
    Bug(
        "the finding of a result that is made again still stands",
        f"{_CORE}state/tasks/findings.py",
        "    if record is None or record.state is not TaskState.SUCCEEDED or record.attempt != finding.attempt:\n"
        "        return False\n"
        "    of = constellation.groups.get(finding.by) or record\n"
        "    return of.round == finding.round\n",
        "    return record is not None\n",
        CORE,
        _FINDING_TESTS,
    ),
    Bug(
        "a model adds a task that writes about another's topic",
        f"{_CORE}plan/batches/topics.py",
        "draft.author == ENGINE or may_decide(draft.author):\n",
        "draft.author:\n",
        CORE,
        _FINDING_TESTS,
    ),
    Bug(
        "a goal publishes under a topic of another",
        f"{_GOALS}publishing.py",
        "        if one.topic not in topics:\n",
        "        if not topics:\n",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "a finding forgets the stranger behind it",
        f"{_CORE}plan/reuse/findings.py",
        "        stranger=behind(work.shard.fleet, constellation, [task]),\n",
        "",
        CORE,
        _GOAL_TESTS,
    ),
    # -- goals
    Bug(
        "the turn of a worker whose claim is over is taken",
        f"{_CORE}state/work.py",
        "    if job.claimed_by != worker:\n",
        "    if job.claimed_by not in (None, worker):\n",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "a renewal takes a job that went on without its worker",
        f"{_CORE}people/requests.py",
        "    if item.renews and not renewed:\n",
        "    if False:\n",
        MINDS,
    ),
    Bug(
        "the tokens of a goal are counted for each claim",
        f"{_CORE}people/requests.py",
        "        claims=job.claims + (0 if renewed else 1),\n",
        "        claims=job.claims + (0 if renewed else 1),\n        tokens=job.tokens if renewed else 0,\n",
        MINDS,
    ),
    Bug(
        "a worker that begins a goal again is not held to its budget",
        f"{_CORE}people/requests.py",
        "not item.renews and asking.spent(work, constellation, job):\n",
        "not renewed and asking.spent(work, constellation, job):\n",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "a worker takes a goal whose tokens are used up",
        f"{_CORE}people/requests.py",
        "not item.renews and asking.spent(work, constellation, job):\n",
        "not item.renews and False:\n",
        MINDS,
    ),
    Bug(
        "who waits for a finding is forgotten where its goal asks a person in the same turn",
        f"{_GOALS}steps.py",
        "        work.undo_part(part)\n        turn = GoalTurn(",
        "        work.back_to(part.marks)\n        turn = GoalTurn(",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "a goal makes one step more than its budget",
        f"{_GOALS}steps.py",
        "    if made >= steps_most(goal, run):\n",
        "    if made > steps_most(goal, run):\n",
        MINDS,
    ),
    Bug(
        "a goal that names no tools may use all of them",
        f"{_CORE}rights/envelope.py",
        " or (not goal.tools and not only_reads(offer)):\n",
        ":\n",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "a path leads out of the folder of a goal",
        f"{_CORE}rights/envelope.py",
        '    if not place or ".." in parts:\n',
        "    if not place:\n",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "a goal forgets at its next step that it read what a stranger wrote",
        f"{_GOALS}conversation.py",
        "    return run.stranger or stranger_in(fleet, constellation, calls) or in_findings(constellation, group)\n",
        "    return stranger_in(fleet, constellation, [*calls][-1:])\n",
        MINDS,
    ),
    Bug(
        "what a stranger wrote does not count where it came while a person was asked",
        f"{_GOALS}steps.py",
        "    stranger = read_of_a_stranger(fleet, constellation, group, run)\n",
        "    stranger = run.stranger\n",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "what a stranger wrote does not count where it is an input of a goal",
        f"{_GOALS}pursuit.py",
        "    stranger = _input_of_a_stranger(work, constellation, group)\n",
        '    stranger = ""\n',
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "calls that do more than read are made side by side",
        f"{_GOALS}steps.py",
        "    if not faults and beside and not all(each.reads for each in judged):\n",
        "    if False:\n",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "a call that nobody allowed in time is made",
        f"{_GOALS}asking.py",
        "    value = DENY if question.operations else STOP\n",
        "    value = ALLOW if question.operations else STOP\n",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "a goal repeats a call once more before it is noticed",
        f"{_GOALS}monitors.py",
        "SAME_CALL_MOST: Final = 2\n",
        "SAME_CALL_MOST: Final = 3\n",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "a hint has the authority of a person whoever gives it",
        f"{_GOALS}asking.py",
        "    if not may_decide(work.by):\n",
        "    if False:\n",
        CORE,
        _GOAL_TESTS,
    ),
    # -- tiers of goals
    Bug(
        "an escalation forgets the tokens that were used",
        f"{_GOALS}tiers.py",
        "    job = replace(job, goal=risen)\n",
        "    job = replace(job, goal=risen, tokens=0)\n",
        MINDS,
    ),
    Bug(
        "a hand-over allows a goal as much again",
        f"{_GOALS}tiers.py",
        "    risen = replace(run, answered=answers_made(",
        "    risen = replace(run, more=run.more + 1, answered=answers_made(",
        MINDS,
    ),
    Bug(
        "the next tier does not know what the small one has read",
        f"{_GOALS}tiers.py",
        "since=len(run.turns), tier=tier)\n",
        'since=len(run.turns), tier=tier, stranger="")\n',
        MINDS,
    ),
    Bug(
        "one stall escalates and asks a person, too",
        f"{_GOALS}tiers.py",
        "since=len(run.turns), tier=tier)\n",
        "tier=tier)\n",
        CORE,
        _GOAL_TESTS,
    ),
    Bug(
        "a goal escalates before its model was warned",
        f"{_GOALS}asking.py",
        "    if run.level:\n        tiers.escalate",
        "    if tiers.next_of(run):\n        tiers.escalate",
        MINDS,
    ),
    Bug(
        "a claim takes a goal back to the small tier",
        f"{_GOALS}tiers.py",
        "    elif tier not in known:\n",
        "    elif known:\n        tier = known[0]\n    else:\n",
        MINDS,
    ),
    Bug(
        "a model hands over to a person again and again",
        f"{_GOALS}steps.py",
        "    elif tiers.handed_over(run):\n",
        "    elif False:\n",
        MINDS,
    ),
    # -- turns
    Bug(
        "a repeated call is made once more than it may be",
        f"{_CORE}state/tasks/turns.py",
        "    if number < repeat.most:\n",
        "    if number <= repeat.most:\n",
        MINDS,
    ),
    Bug(
        "turns in a row are counted with gaps",
        f"{_CORE}state/tasks/turns.py",
        "            met = met + 1 if ends(constellation, turn, repeat) else 0\n",
        "            met = met + 1 if ends(constellation, turn, repeat) else met\n",
        CORE,
        "tests/core/plan/test_repeats.py",
    ),
    Bug(
        "each turn is given what the first one gave",
        f"{_CORE}plan/groups.py",
        "    carried = [Input(name=name, source=before, output=output)",
        '    carried = [Input(name=name, source=f"{group}.1", output=output)',
        MINDS,
    ),
    # -- votes and judges
    Bug(
        "a vote counts a ballot for each attempt of a call",
        f"{_CORE}run/attempts.py",
        "        sources = [_source(constellation, child, item.output)"
        " for child in successes(constellation, item.source)]\n",
        "        sources = [\n"
        "            _source(constellation, child, item.output)\n"
        "            for child in successes(constellation, item.source)\n"
        "            for _ in range(constellation.tasks[child].started)\n"
        "        ]\n",
        MINDS,
    ),
    Bug(
        "a vote has the voters of calls that failed",
        f"{_CORE}run/attempts.py",
        "        who = [_voter(fleet, constellation, child) for child in successes(constellation, item.source)]\n",
        "        who = [_voter(fleet, constellation, child) for child in constellation.leaves(item.source)]\n",
        CORE,
        "tests/core/plan/test_votes.py",
    ),
    Bug(
        "a verdict on an older attempt decides on a newer one",
        f"{_CORE}run/judgement.py",
        '    return task if judged == f"{task}/{record.round}/{record.attempt}" else None\n',
        "    return task\n",
        CORE,
        "tests/core/run/test_judgement.py",
    ),
    # -- experience
    Bug(
        "a pace is learned from an attempt that failed",
        f"{_PLACEMENT}pace.py",
        "with_failure(row, work.at_ms))])\n",
        "with_sample(row, ended.ended_ms - ended.leased_ms, 0, work.at_ms))])\n",
        CORE,
        _PACE_TESTS,
    ),
    Bug(
        "a pace is learned only from the calls that chance picks",
        f"{_PLACEMENT}pace.py",
        "    return row.count + row.failures < EACH_BELOW or work.roll % SPARSE == 0\n",
        "    return work.roll % SPARSE == 0\n",
        MINDS,
    ),
    Bug(
        "tasks that wait for a better device all count on the same slot",
        f"{_PLACEMENT}finish.py",
        "        heapreplace(ends, self.now_ms + wait_ms + takes_ms)\n",
        "        heapreplace(ends, due_ms)\n",
        CORE,
        _PACE_TESTS,
    ),
    Bug(
        "a task waits for ever for a better device that is late",
        f"{_PLACEMENT}finish.py",
        "        return -over_ms if over_ms < 0 else max(over_ms, spare_ms)\n",
        "        return max(-over_ms, 0)\n",
        CORE,
        _PACE_TESTS,
    ),
    # -- successors
    Bug(
        "a successor lacks the checks of the task whose work it did",
        f"{_CORE}plan/batches/superseding.py",
        "    if lost:\n",
        "    if False:\n",
        CORE,
        "tests/core/state/tasks/test_supersession.py",
    ),
    Bug(
        "a model names work that was there before as a successor",
        f"{_CORE}rights/supersession_scope.py",
        "    if by in before:\n",
        "    if False:\n",
        CORE,
        "tests/core/plan/test_review.py",
    ),
    Bug(
        "what was skipped for a failure stays skipped after its work was done",
        f"{_CORE}plan/batches/superseding.py",
        "        if skipped:\n",
        "        if False:\n",
        CORE,
        "tests/core/state/tasks/test_supersession.py",
    ),
]
