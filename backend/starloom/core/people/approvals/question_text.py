"""The text of the question about a plan, made of what its calls do: the name of a plan may say anything.

Decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from starloom.core.people.approvals.need import ApprovalNeed, CallReach
from starloom.core.rights.call_effects import UNSEEN_TRASH, offers_in, overwriting_words, stays_words, wide_trash
from starloom.core.rights.envelope import envelope_words
from starloom.core.state.model import Constellation, Fleet
from starloom_protocol.text.wording import listed
from starloom_protocol.vocabulary import Effect

TOOLS_NAMED_MOST = DEVICES_NAMED_MOST = 5
"""The question is one sentence; the calls stand below it."""
_VERBS = {Effect.REACH: "reach the network", Effect.CONTROL: "control what is there"}
PLACES_NAMED_MOST = GOALS_NAMED_MOST = 3
"""The question is one sentence; the plan has the others."""
SHOWN_LIST = " Before they go, a question shows the list of them."
UNSEEN_LIST = (
    " Allowing it now allows every file that the plan finds. To be asked when the list is there, deny this, and put a"
    " question that shows it before the trash (docs/plans.md, A question that shows a result)."
)


def question_text(fleet: Fleet, constellation: Constellation, verdict: ApprovalNeed, effects: list[Effect]) -> str:
    """Return the question about a plan: its name, then the effects, places and goals that an answer allows."""
    goals = [spec for spec in constellation.specs.values() if spec.goal is not None]
    aims = "".join(f" The goal {spec.id}: {envelope_words(spec, fleet)}" for spec in goals[:GOALS_NAMED_MOST])
    stays = stays_words(constellation.specs.values(), offers_in(fleet))
    may = _may(fleet, verdict, effects) + _about_list(constellation, verdict) + _overwriting_sentence(constellation)
    may += f" {stays}" if stays else ""
    return f"{_run_words(constellation.head.name)}? It may {may}{aims}"


def _overwriting_sentence(constellation: Constellation) -> str:
    """Return the sentence on the files that calls may overwrite; the effect *write* does not tell that."""
    words_by_task = {spec.id: words for spec in constellation.specs.values() if (words := overwriting_words(spec))}
    clauses = [f"{task} may {words}" for task, words in list(words_by_task.items())[:PLACES_NAMED_MOST]]
    more = len(words_by_task) - PLACES_NAMED_MOST
    return f" {'; '.join(clauses)}{f'; so may {more} more tasks' if more > 0 else ''}." if clauses else ""


def _run_words(name: str) -> str:
    """Return the beginning of the question about a plan; many names are what it does, such as *Run everywhere*."""
    return name if name.casefold().startswith("run ") else f"Run {name}"


def _may(fleet: Fleet, verdict: ApprovalNeed, effects: list[Effect]) -> str:
    """Return the effects of the calls that ask with their devices and folders, then those of the other tasks.

    The name of a plan may say anything, so the sentence is made of what its calls do.
    """
    repeats = f", with {listed(list(verdict.repeats[:TOOLS_NAMED_MOST]))}" if verdict.repeats else ""
    asking_effects = frozenset[Effect]().union(*(one.effects for one in verdict.reaches))
    if not asking_effects:
        return f"{_verbs(effects) or 'do nothing to the world'}{repeats}."
    places: dict[tuple[str, ...], list[CallReach]] = {}
    for one in verdict.reaches:
        if one.effects and one.control is None:
            places.setdefault(one.devices, []).append(one)
    groups = list(places.values())
    if len(groups) > PLACES_NAMED_MOST:
        groups = [[one for group in groups for one in group]]
    clauses = "; ".join([*(_at_a_place(fleet, group) for group in groups), *_controlled(verdict.reaches)])
    rest = verdict.others | (frozenset(effects) - asking_effects)
    more = (
        ""
        if not rest
        else " Its other tasks only read."
        if rest == {Effect.READ}
        else f" Its other tasks may {_verbs(rest)}."
    )
    return f"{clauses}{repeats}.{more}"


def _about_list(constellation: Constellation, verdict: ApprovalNeed) -> str:
    """Return the sentence on files that a plan looks for and puts into the trash: a later question may list them."""
    if not any(UNSEEN_TRASH in one.leaving for one in verdict.reaches):
        return ""
    wide = wide_trash(constellation.specs.values(), constellation.deps.values())
    return UNSEEN_LIST if wide else SHOWN_LIST


def _at_a_place(fleet: Fleet, reaches: Sequence[CallReach]) -> str:
    """Return the effects of calls on the same devices, each device with the folder that the calls mean by `.`.

    The devices that can do none of them yet come last.
    """
    folders = {device: folder for one in reaches for device, folder in one.folders}
    now = {device for one in reaches for device in one.devices if device not in one.later}
    names: dict[bool, list[str]] = {True: [], False: []}
    for key in dict.fromkeys(device for one in reaches for device in one.devices if device in fleet.devices):
        folder = f" (in {folders[key]})" if key in folders else ""
        names[key in now].append(f"{fleet.devices[key].name}{folder}")
    can, later = names[True], names[False]
    places = [f"on {_names(can)}"] if can else []
    places += [f"on {_names(later)} once {'it' if len(later) == 1 else 'they'} can"] if later else []
    return " ".join([_act_words(reaches), ", and ".join(places)]).rstrip()


def _act_words(reaches: Sequence[CallReach]) -> str:
    """Return the effects of calls; of one that takes files from their place that, in place of a write."""
    effects = frozenset[Effect]().union(
        *(one.effects - {Effect.WRITE} if one.only_leaves else one.effects for one in reaches)
    )
    leaving = list(dict.fromkeys(words for one in reaches for words in one.leaving))
    more = [f"{len(leaving) - PLACES_NAMED_MOST} times more"] if len(leaving) > PLACES_NAMED_MOST else []
    return listed([*_verb_list(effects), *leaving[:PLACES_NAMED_MOST], *more])


def _controlled(reaches: Sequence[CallReach]) -> list[str]:
    """Return the devices that the calls of the hub itself control, after the verb of those calls."""
    names_by_verb: dict[str, dict[str, None]] = {}
    for verb, name in (one.control for one in reaches if one.control is not None):
        names_by_verb.setdefault(verb, {})[name] = None
    return [f"{verb} {_names(list(names))}" for verb, names in names_by_verb.items()]


def _names(names: Sequence[str]) -> str:
    more = len(names) - DEVICES_NAMED_MOST
    return listed([*names[:DEVICES_NAMED_MOST], *([f"{more} more devices"] if more > 0 else [])])


def _verbs(effects: Collection[Effect]) -> str:
    return listed(_verb_list(effects))


def _verb_list(effects: Collection[Effect]) -> list[str]:
    return [_VERBS.get(effect, str(effect)) for effect in Effect if effect in effects]
