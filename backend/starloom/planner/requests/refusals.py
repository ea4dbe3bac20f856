"""Refusals of words that no recipe takes exactly: the sentence, and requests that would work on these devices.

Owns the texts of `request_ambiguous`, `recipe_on_trial` and `request_not_understood`, for the preview, the submission
and the job alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from shlex import quote
from typing import Any, Final

from starloom.core.state.settings import TRIAL_RUNS
from starloom.planner.fleet import DeviceSnapshot, FleetSnapshot, of_class
from starloom.planner.requests.clauses import plain_word, word_set
from starloom.planner.requests.fitting import Candidate
from starloom.planner.requests.german import in_english
from starloom.planner.requests.matching import Match, Matched
from starloom.planner.requests.phrases import Phrase, forms_in, overlap, read_phrase, request_words
from starloom.planner.requests.rhythm import Rhythm
from starloom_protocol.records.entities import Fault
from starloom_protocol.text.wording import listed, quoted
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import CODES, Code

EXAMPLES = 3
_ENGLISH: Final = word_set("the my your of to for with is are does when what which how where who and from please not")
"""Words that a sentence in English has, and one in German, French or Spanish has not."""
_NO_WORDS: Final = Matched(Match.NONE, ())


def refused(match: Matched, fleet: FleetSnapshot) -> Fault:
    """Return the fault of words that start nothing, with its remedy."""
    if match.on_trial:
        return _fault(Code.RECIPE_ON_TRIAL, _trial_of(match.candidates[0]))
    if match.outcome is Match.NEAR:
        meaning = match.gap or _may_mean(match.candidates)
        meaning = f"{meaning}. {match.always[:1].upper()}{match.always[1:]}" if match.always else meaning
        if match.rhythm is not None:
            line = _schedule_line(match, match.rhythm)
            nearly = f" ({match.rhythm.nearly})" if match.rhythm.nearly else ""
            meaning = f"{meaning}. They also say how often, and a request runs once; to repeat it{nearly}: {line}"
        return _fault(Code.REQUEST_AMBIGUOUS, meaning)
    limit = f"no recipe has a place for {quoted(match.limit)}. " if match.limit else ""
    if match.gap:
        return _fault(
            Code.REQUEST_NOT_UNDERSTOOD, limit + match.gap[:1].upper() + match.gap[1:] if limit else match.gap
        )
    nearest = ", ".join(quoted(candidate.title) for candidate in match.candidates)
    verb = "recipe is" if len(match.candidates) == 1 else "recipes are"
    near = f"The nearest {verb} {nearest}. " if nearest else ""
    return _fault(Code.REQUEST_NOT_UNDERSTOOD, limit + near + what_to_ask(fleet, match))


_OWN_SENTENCES: Final = (
    "The built-in recipes have English phrases; a recipe that you keep may have `phrases` in your own language "
    "(docs/recipes.md)."
)


def what_to_ask(fleet: FleetSnapshot, match: Matched) -> str:
    """Return two sentences about possible requests here, with the examples nearest to the words."""
    offered = ", ".join(quoted(words) for words in examples(fleet, match))
    first = "Starloom looks after your devices, copies and checks files between them, and runs work on them."
    if not fleet.devices:
        return f"{first} No device has joined yet; add one on the page *Devices*, or by `starloom enroll`."
    if not offered:
        return f"{first} The devices that are here offer nothing for that; add a computer by `starloom enroll`."
    german = bool(in_english(match.words))
    if not german and not _ENGLISH.isdisjoint(map(plain_word, match.words.split())):
        return f"{first} Requests that work here: {offered}."
    own_sentences = f" {_OWN_SENTENCES}" if german else ""
    return f"{first} Say it in English, for example {offered}.{own_sentences}"


@dataclass(frozen=True)
class _Example:
    """Words with a place for each device, and the tools that the device in each place has to offer."""

    words: str
    needs: tuple[tuple[str, ...], ...]
    of_a_phone: bool = False


_STORES: Final = ("fs.write", "fs.hash", "fs.verify")
_KEEPS: Final = ("fs.write", "archive.verify", "archive.rotate")
_EXAMPLES: Final = (
    _Example("how are my machines", (("system.info",),)),
    _Example("back up the pictures of {} to {}", (("fs.find", "fs.hash", "artifact.put"), _STORES), of_a_phone=True),
    # A browser tab has the pictures picked there.
    _Example("back up the pictures of {} to {}", (("file.pick",), _STORES), of_a_phone=True),
    _Example("back up Documents of {} to {}", (("archive.pack",), _KEEPS)),
    _Example("what fills the disk of {}", (("disk.usage",),)),
    _Example("errors since yesterday on {}", (("log.search",),)),
    _Example("find invoice on {}", (("fs.find",),)),
    _Example("take a picture with {} and put it on {}", (("camera.capture",), ("fs.write", "fs.hash"))),
    _Example("find duplicates on {}", (("fs.find", "fs.hash", "fs.trash"),)),
    _Example("largest files on {}", (("fs.find",),)),
    _Example("which machine has the most free space", (("system.info",),)),
    _Example("list the files in Documents on {}", (("fs.list",),)),
    _Example("zip the folder Documents on {}", (("archive.zip", "fs.write", "fs.hash"),)),
    _Example("compare Documents on {} with Documents on {}", (("fs.find", "fs.hash"), ("fs.find", "fs.hash"))),
    _Example("search the files of {} for the word invoice", (("fs.search",),)),
    _Example("make a contact sheet of Pictures on {}", (("fs.find", "fs.hash", "image.sheet"),)),
    _Example("make the pictures in Pictures on {} smaller", (("fs.find", "image.resize", "fs.write"),)),
    _Example('send "hello" to {}', (("notify",),), of_a_phone=True),
    _Example("copy Documents from {} to {}", (("fs.find", "fs.hash", "artifact.put"), _STORES)),
)
_NEAR: Final = 0.25
"""An example that is less like the words than that stands in its usual place."""


def examples(fleet: FleetSnapshot, match: Matched = _NO_WORDS) -> tuple[str, ...]:
    """Return requests in words that fit a recipe and that the devices which they name can carry out now.

    Those nearest to the words that were said come first, with the devices that were named.
    """
    named_devices = _named_in(match, fleet)
    devices = sorted(fleet.devices, key=lambda one: (one.name not in named_devices, one.demo, not one.online, one.name))
    requests: list[str] = []
    backed_up = False
    spoken_forms = [forms_in(request_words(words)) for words in (match.words, in_english(match.words))]
    for example in sorted(_EXAMPLES, key=lambda one: -_nearness(one, spoken_forms)):
        placed = _places(example, devices)
        copies = example.words.startswith("back up")
        if placed and not (copies and backed_up):
            requests.append(example.words.format(*(device.name for device in placed)))
            backed_up = backed_up or copies
    return tuple(requests[:EXAMPLES])


def _named_in(match: Matched, fleet: FleetSnapshot) -> set[str]:
    """Return the names of the devices that the words have, or the values given beside them."""
    values = {
        str(value["name"] if isinstance(value, dict) and "name" in value else value) for value in match.params.values()
    }
    words = match.words.casefold()
    return {device.name for device in fleet.devices if device.name in values or device.named_in(words)}


@lru_cache(maxsize=64)
def _phrase(words: str) -> Phrase:
    return read_phrase(words.replace("{}", "{device}"))


def _nearness(example: _Example, spoken_forms: Sequence[frozenset[str]]) -> float:
    """Return how much an example is like one of the words that were said, from `_NEAR` on; 0 if it is like none."""
    alike = max(overlap(_phrase(example.words), forms) for forms in spoken_forms)
    return alike if alike >= _NEAR else 0.0


def _places(example: _Example, devices: Sequence[DeviceSnapshot]) -> list[DeviceSnapshot]:
    """Return a device for each place of an example, each another one; none where a place stays empty."""
    places: list[DeviceSnapshot] = []
    for at, needs in enumerate(example.needs):
        phone = example.of_a_phone and at == 0
        able = [device for device in devices if device not in places and device.can_now(needs)]
        device = next((device for device in able if not phone or of_class("phone", [device])), None)
        if device is None:
            return []
        places.append(device)
    return places


def _may_mean(candidates: tuple[Candidate, ...]) -> str:
    first, *others = candidates
    also = "".join(f", or {quoted(other.title)}" for other in others)
    needed = ", ".join(
        f"{quoted(item.title)} ({item.reason})" if item.reason else quoted(item.title) for item in first.missing
    )
    lacks = [f"has no place for {listed([quoted(word) for word in first.unused])}"] if first.unused else []
    lacks += [f"still needs {needed}"] if needed else []
    which = f", which {' and '.join(lacks)}" if lacks else ""
    ending = "" if needed else "; start it, or say it another way"
    return f"they may mean {quoted(first.title)}{which}{also}{ending}"


def _schedule_line(match: Matched, rhythm: Rhythm) -> str:
    """Return the line that repeats the words, or the recipe with its values where the words do not say them all."""
    candidate = match.candidates[0]
    lacking = "".join(f" -p {quote(item.name)}=..." for item in candidate.missing)
    filled = "".join(f" -p {quote(name)}{_typed(value)}" for name, value in candidate.params.items())
    by_name = lacking or match.params or (rhythm.misspelt and not candidate.unused)
    what = f"-r {candidate.recipe}{filled}{lacking}" if by_name else quote(rhythm.rest)
    days_off = f" --except {quote(rhythm.except_days)}" if rhythm.except_days else ""
    return f"starloom schedule add {what} --cron {quote(rhythm.cron)}{days_off}"


def _typed(value: Any) -> str:
    """Return the sign and the value as an option of the command line takes them; a device by its name alone."""
    if isinstance(value, dict) and set(value) == {"name"}:
        value = value["name"]
    return "=" + quote(value) if isinstance(value, str) else ":=" + quote(canonical(value))


def _trial_of(candidate: Candidate) -> str:
    clean = candidate.trial.clean if candidate.trial is not None else 0
    counted = f"{clean} of {TRIAL_RUNS} clean runs in a row"
    title = quoted(candidate.title)
    return f"they are those of {title} ({candidate.recipe}), which has had {counted}; until then it is offered"


def _fault(code: Code, reason: str) -> Fault:
    return Fault(code=code, hint=CODES[code].hint, place="request", reason=reason)
