"""The corpus of requests: words, the fleet they are asked on, and the recipe, the candidates or nothing they mean.

`words/fleets.yaml` holds the fleets; every other file of the folder holds requests, one a line. `words/held-out` holds
requests that no phrase and no rule was written for: they show how strangers fare, and none may be taken wrongly.

- `exact: RECIPE`, `with: {...}`: the recipe with exactly these values runs.
- `near: [RECIPE, ...]`: the first candidate is one of these; with `with`, it fills no value besides these.
  With `or_none`, no candidate is right as well.
- `none: true`: no recipe fits.

A device is written by its name, several as a list. `python -m tests.planner.corpus` prints the report of `make words`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import Catalogue, load_catalogue
from starloom.planner.requests.matching import Match, Matched, match_all
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.planner.fleets import device, fleet, offer

FOLDER = Path(__file__).parent / "words"
HELD_OUT = FOLDER / "held-out"


class Verdict(StrEnum):
    RIGHT = "right"
    WRONG_TAKE = "wrong take"
    """Something runs that was not asked for: the worst of all."""
    DEAF = "deaf"
    """A request that a recipe answers is not taken."""
    STRAY = "stray"
    """Nothing runs, and what is offered is not what was meant."""


@dataclass(frozen=True)
class Request:
    """One line of the corpus."""

    place: str
    fleet: str
    words: str
    exact: str = ""
    near: tuple[str, ...] = ()
    or_none: bool = False
    values: Mapping[str, Any] | None = None

    @property
    def expected(self) -> str:
        if self.exact:
            return f"{self.exact} {json.dumps(self.values, ensure_ascii=False)}"
        return " or ".join([*self.near, *(["nothing"] if self.or_none or not self.near else [])])


@dataclass(frozen=True)
class Judged:
    request: Request
    found: Matched
    verdict: Verdict


@dataclass(frozen=True)
class Corpus:
    fleets: Mapping[str, FleetSnapshot]
    requests: tuple[Request, ...] = field(default=())


@cache
def read_corpus(folder: Path = FOLDER) -> Corpus:
    """Return all fleets, and the requests of a folder."""
    described = _load(FOLDER / "fleets.yaml")
    fleets = {name: _fleet(devices) for name, devices in described.items()}
    requests = [
        _request(f"{path.name}:{number}", line)
        for path in sorted(folder.glob("*.yaml"))
        if path.name != "fleets.yaml"
        for number, line in enumerate(_load(path), start=1)
    ]
    return Corpus(fleets, tuple(requests))


def _fleet(described: list[dict[str, Any]]) -> FleetSnapshot:
    """Return a fleet whose phones have a camera besides the tools of every agent.

    `tools` are all that a device has, `browser` is what one says of itself.
    """
    of_offer = ("browser", "tools")
    devices = [device(**{key: value for key, value in item.items() if key not in of_offer}) for item in described]
    everyone = offer()
    capture = ToolOffer(
        name="camera.capture", title="Take a picture", effects=[Effect.CONTROL], repeatability=Repeatability.NEVER
    )
    pick = ToolOffer(name="file.pick", title="Pick files", effects=[Effect.READ], repeatability=Repeatability.NEVER)
    save = ToolOffer(name="file.save", title="Save files", effects=[Effect.WRITE], repeatability=Repeatability.NEVER)
    phone = msgspec.structs.replace(everyone, tools=[*everyone.tools, capture])
    offers = {item.name: phone if "phone" in item.labels else everyone for item in devices}
    for item in described:
        if only := item.get("tools"):
            tools = [tool for tool in (*phone.tools, pick, save) if tool.name in only]
            facts = {"browser": item["browser"]} if "browser" in item else {}
            offers[item["name"]] = msgspec.structs.replace(phone, tools=tools, facts=facts)
    return fleet(*devices, offers=offers)


def _load(path: Path) -> Any:
    return yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)


def _request(place: str, line: Mapping[str, Any]) -> Request:
    if sum(kind in line for kind in ("exact", "near", "none")) != 1:
        raise ValueError(f"{place}: a request is exact, near or none")
    return Request(
        place=place,
        fleet=line["fleet"],
        words=line["say"],
        exact=line.get("exact", ""),
        near=tuple(line.get("near", ())),
        or_none=bool(line.get("or_none")),
        values=line.get("with"),
    )


def judge(request: Request, catalogue: Catalogue, fleets: Mapping[str, FleetSnapshot]) -> Judged:
    """Return how the matcher takes a request, and whether that is right."""
    found = match_all(request.words, catalogue, fleets[request.fleet])
    return Judged(request, found, _verdict(request, found))


def judge_all(corpus: Corpus) -> list[Judged]:
    """Return the judgement of every request, in the order of the corpus."""
    catalogue = load_catalogue()
    return [judge(request, catalogue, corpus.fleets) for request in corpus.requests]


def _verdict(request: Request, found: Matched) -> Verdict:
    if found.outcome is Match.EXACT:
        taken = found.candidates[0]
        right = taken.recipe == request.exact and plain_values(taken.params) == request.values
        return Verdict.RIGHT if right else Verdict.WRONG_TAKE
    if request.exact:
        return Verdict.DEAF
    if found.outcome is Match.NONE:
        return Verdict.RIGHT if request.or_none or not request.near else Verdict.STRAY
    first = found.candidates[0]
    if first.recipe not in request.near:
        return Verdict.STRAY
    filled, allowed = plain_values(first.params), request.values
    invented = allowed is not None and any(
        name not in allowed or allowed[name] != value for name, value in filled.items()
    )
    return Verdict.STRAY if invented else Verdict.RIGHT


def plain_values(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with a device as its name and several devices as a list of names."""
    return {name: _plain(value) for name, value in params.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"name"}:
        return value["name"]
    if isinstance(value, dict) and set(value) == {"any"}:
        return [_plain(item) for item in value["any"]]
    return value


def figures(judged: Iterable[Judged]) -> dict[str, int]:
    """Return the line of figures: how the matcher took the requests, and how many it took wrongly."""
    all_of_them = list(judged)
    outcomes = Counter(item.found.outcome for item in all_of_them)
    verdicts = Counter(item.verdict for item in all_of_them)
    return {
        "requests": len(all_of_them),
        "exact": outcomes[Match.EXACT],
        "near": outcomes[Match.NEAR],
        "none": outcomes[Match.NONE],
        "wrong_takes": verdicts[Verdict.WRONG_TAKE],
        "deaf": verdicts[Verdict.DEAF],
        "stray": verdicts[Verdict.STRAY],
    }


def told(item: Judged) -> str:
    """Return one judgement as text."""
    found = item.found
    candidates = "; ".join(
        f"{one.recipe} {json.dumps(plain_values(one.params), ensure_ascii=False)}"
        + "".join(f" [{missing.name}? {missing.reason}]" for missing in one.missing)
        for one in found.candidates
    )
    return (
        f"{item.verdict}: {item.request.words!r} ({item.request.fleet}, {item.request.place})\n"
        f"    expected  {item.request.expected}\n    got       {found.outcome}: {candidates or 'nothing'}"
    )


def main() -> int:
    """Print every request that is not taken rightly, a table by recipe, and one line of JSON."""
    judged = judge_all(read_corpus())
    wrong = [item for item in judged if item.verdict is not Verdict.RIGHT]
    for item in wrong:
        print(told(item))
    takes = Counter(item.found.candidates[0].recipe for item in judged if item.found.outcome is Match.EXACT)
    print("Right takes by recipe")
    for recipe in load_catalogue().all():
        print(f"  {recipe.name:20} {takes[recipe.name]:4}")
    by_file = Counter(item.request.place.split(":")[0] for item in judged)
    print("Requests by file")
    for name, count in sorted(by_file.items()):
        print(f"  {name:20} {count:4}")
    print(json.dumps(figures(judged)))
    held_out = judge_all(read_corpus(HELD_OUT))
    print("Held out")
    for item in held_out:
        if item.verdict is not Verdict.RIGHT:
            print(told(item))
    print(json.dumps(figures(held_out)))
    return 1 if wrong or figures(held_out)["wrong_takes"] else 0


if __name__ == "__main__":
    sys.exit(main())
