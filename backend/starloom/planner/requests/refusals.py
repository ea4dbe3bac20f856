"""Refusals of words that no recipe takes exactly: the sentence, and requests that would work on these devices.

Owns the texts of `request_ambiguous`, `recipe_on_trial` and `request_not_understood`, for the preview, the submission
and the job alike.
"""

from __future__ import annotations

from shlex import quote
from typing import Any

from starloom.core.state.model import TRIAL_RUNS
from starloom.planner.fleet import DeviceSnapshot, FleetSnapshot
from starloom.planner.requests.matching import Candidate, Match, Matched
from starloom.planner.requests.rhythm import Rhythm
from starloom_protocol.records.entities import Fault
from starloom_protocol.text.wording import quoted
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import CODES, Code

EXAMPLES = 3


def refused(found: Matched, fleet: FleetSnapshot) -> Fault:
    """Return the fault of words that start nothing, with its remedy."""
    if found.on_trial:
        return _fault(Code.RECIPE_ON_TRIAL, _trial_of(found.candidates[0]))
    if found.outcome is Match.NEAR:
        meant = _may_mean(found.candidates)
        if found.rhythm is not None:
            line = _schedule_line(found.candidates[0], found.rhythm)
            meant = f"{meant}. They also say how often, and a request runs once; to repeat it: {line}"
        return _fault(Code.REQUEST_AMBIGUOUS, meant)
    if found.gap:
        return _fault(Code.REQUEST_NOT_UNDERSTOOD, found.gap)
    nearest = ", ".join(quoted(candidate.title) for candidate in found.candidates)
    verb = "recipe is" if len(found.candidates) == 1 else "recipes are"
    near = f"The nearest {verb} {nearest}. " if nearest else ""
    return _fault(Code.REQUEST_NOT_UNDERSTOOD, near + what_to_ask(fleet))


def what_to_ask(fleet: FleetSnapshot) -> str:
    """Return two sentences about possible requests here, with examples."""
    shown = ", ".join(quoted(words) for words in examples(fleet))
    first = "Starloom looks after your devices, copies and checks files between them, and runs work on them."
    if not shown:
        return f"{first} No device has joined yet; add one on the page *Devices*, or by `starloom enroll`."
    return f"{first} Say it in English, for example {shown}."


_LENDS_PICTURES = (("fs.find", "artifact.put"), ("file.pick",))
"""The tools by which a phone gives its pictures: an agent looks for them, a browser tab has them picked."""


def examples(fleet: FleetSnapshot) -> tuple[str, ...]:
    """Return requests in words that fit a recipe, with the names of devices that are here; none without a device."""
    devices = sorted(fleet.devices, key=lambda device: (device.demo, not device.online, device.name))
    if not devices:
        return ()
    first = devices[0]
    phone = next((device for device in devices if _is_phone(device) and _lends_pictures(device)), None)
    other = next((device for device in devices if device not in (first, phone)), None)
    asked = ["how are my machines"]
    if phone is not None and phone is not first:
        asked.append(f"back up the pictures of {phone.name} to {first.name}")
    elif other is not None:
        asked.append(f"back up Documents of {first.name} to {other.name}")
    asked.append(f"what fills the disk of {first.name}")
    if len(asked) < EXAMPLES:
        asked.append(f"errors since yesterday on {first.name}")
    return tuple(asked[:EXAMPLES])


def _lends_pictures(device: DeviceSnapshot) -> bool:
    return any(device.can(tools) for tools in _LENDS_PICTURES)


def _is_phone(device: DeviceSnapshot) -> bool:
    return "phone" in device.words or device.os in ("android", "ios")


def _may_mean(candidates: tuple[Candidate, ...]) -> str:
    meant, *others = candidates
    also = "".join(f", or {quoted(other.title)}" for other in others)
    if not meant.missing:
        return f"they may mean {quoted(meant.title)}{also}; start it, or say it another way"
    needed = ", ".join(f"{item.title} ({item.reason})" if item.reason else item.title for item in meant.missing)
    return f"they may mean {quoted(meant.title)}, which still needs {needed}{also}"


def _schedule_line(meant: Candidate, rhythm: Rhythm) -> str:
    """Return the line that repeats the words, or the recipe with its values where the words do not say them all."""
    lacking = "".join(f" -p {quote(item.name)}=..." for item in meant.missing)
    known = "".join(f" -p {quote(name)}{_typed(value)}" for name, value in meant.params.items()) if lacking else ""
    what = f"-r {meant.recipe}{known}{lacking}" if lacking else quote(rhythm.rest)
    return f"starloom schedule add {what} --cron {quote(rhythm.cron)}"


def _typed(value: Any) -> str:
    """Return the sign and the value as an option of the command line takes them; a device by its name alone."""
    if isinstance(value, dict) and set(value) == {"name"}:
        value = value["name"]
    return "=" + quote(value) if isinstance(value, str) else ":=" + quote(canonical(value))


def _trial_of(meant: Candidate) -> str:
    clean = meant.trial.clean if meant.trial is not None else 0
    counted = f"{clean} of {TRIAL_RUNS} clean runs in a row"
    return (
        f"they are those of {quoted(meant.title)} ({meant.recipe}), which has had {counted}; until then it is offered"
    )


def _fault(code: Code, reason: str) -> Fault:
    return Fault(code=code, hint=CODES[code].hint, place="request", reason=reason)
