"""Questions about Starloom: how a device joins, who asked for work, why it waits, how it is stopped.

Owns their patterns, and for each a sentence with the command, and the pages that answer it. Pure. No recipe and no
model carries out such words; a pattern fits all of them or nothing, so that work is never taken for a question.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from starloom.planner.fleet import MACHINES, DeviceSnapshot, FleetSnapshot, of_class, singular
from starloom.planner.requests.clauses import COURTESIES, plain_word
from starloom_protocol.stream.authors import name_of


@dataclass(frozen=True)
class Place:
    """A page of Starloom: its title, and its path below the address of the hub."""

    title: str
    path: str


@dataclass(frozen=True)
class Pointer:
    """The sentence that answers a question, and the pages that do."""

    sentence: str
    places: tuple[Place, ...]


_FLEET: Final = Place("Fleet, Add device", "/devices?add=1")
_DEVICES: Final = Place("Fleet", "/devices")
_STOP: Final = Place("Fleet, Stop everything", "/devices?stop=1")
_RUNS: Final = Place("Constellations", "/constellations")
_ACTIVITY: Final = Place("Activity", "/activity")
NEWEST: Final = Place("Your newest request", "/constellations/newest")
"""The newest request of the person who asks: whoever knows the requests puts its page in this place, or leaves it out.
"""
_RECIPES: Final = Place("Recipes", "/recipes")
_SCHEDULES: Final = Place("Schedules", "/schedules")
_MODEL_SETTINGS: Final = Place("Settings, Model", "/settings")

_DEVICE: Final = (
    r"(?:phone|iphone|android|tablet|ipad|device|machine|computer|laptop|notebook|macbook|mac|pc|server|nas|desktop|"
    r"workstation|till|browser|one)s?"
)
_SUBJECT: Final = (
    r"(?:this|that|it|nothing|everything|these|those|(?:my|our|the|this|that) (?:\w+ )?"
    r"(?:tasks?|jobs?|work|constellations?|requests?|backups?|copy|run|plan|schedules?|search|update))"
)
_DONE: Final = r"(?:done|finished|ready|over|through|complete|completed|ended|there|copied|backed up)"
_STOPS: Final = r"(?:stop|cancel|end|abort|kill|halt)"
_ALL: Final = (
    r"(?:everything|every thing|all(?: (?:of it|the work|work|jobs|the jobs|tasks|the tasks|requests))?|whatever)"
)
_MODEL: Final = r"(?:the|my|our|your|this) (?:language )?(?:model|llm|ai)"
_UNDO: Final = r"(?:undo|revert|take back|roll back|reverse)"
_BESIDE: Final = r"(?:on|to|of|from|for|with)"
_MORE: Final = r"(?:again|once more|one more time|over again)"
_SO_FAR: Final = (
    r"(?: (?:so far|until now|today|yesterday|already|all in all|(?:this|last) (?:day|night|week|month|year)))*"
)
_LATELY: Final = (
    r"(?: (?:just now|today|yesterday|last|this morning|last night|last week|this week|tonight|an hour ago|before))?"
)
_IS_NOT: Final = r"(?:is|are|was|has|have|does|do|did|can|will)(?:n'?t| not)?|won'?t|can'?t|cannot"


_ASKER: Final = frozenset({"i", "me", "you", "myself"})
_LAST: Final = (
    r"(?:it|that|this|these|those|(?:the |my |our )?(?:very )?(?:last|latest|newest|previous|same)"
    r"(?: (?:thing|one|step|action|change|run|work|task|job|request|constellation)s?)?(?: (?:i|you|we) (?:just )?did)?)"
)


_ALL_ONLINE: Final = Pointer(
    "Fleet shows which devices are connected, and the others with the time since when (`starloom devices`)", (_DEVICES,)
)


def _plain(sentence: str, *places: Place) -> Callable[[re.Match[str], FleetSnapshot], Pointer]:
    return lambda _match, _fleet: Pointer(sentence, places)


def _person(word: str, fleet: FleetSnapshot) -> str:
    """Return the name of a person in words: *I*, *me* and *you* are the one who asks; empty for everyone."""
    plain = word.casefold()
    return "" if plain in ("we", "us") else name_of(fleet.asked_by) if plain in _ASKER else word


def _of_person(match: re.Match[str], fleet: FleetSnapshot) -> Pointer | None:
    name = _person(match["who"], fleet)
    if not name:
        return None
    sentence = (
        f"`starloom cancel --of {name}` cancels all that {name} asked for, after a question that counts it; "
        f"`starloom ls --of {name}` lists it"
    )
    return Pointer(sentence, (_RUNS,))


def _undone_of(match: re.Match[str], fleet: FleetSnapshot) -> Pointer:
    """Return how work is taken back: the newest of a person, that of the one who asks where nobody is named."""
    doer = match["undone"] or "me"
    name = _person(doer, fleet)
    is_asker, of = name == name_of(fleet.asked_by), f" --of {name}" if name else ""
    newest = "your newest work" if is_asker else f"the newest work of {name}" if name else "the newest work"
    line = f"`starloom undo{of}` does so with {newest} that can be undone, after a question"
    sentence = "Undo on the page of a request takes back what it did, and shows first what that is; in a terminal " + (
        line if name else f"`starloom undo --preview` shows it of {newest}"
    )
    return Pointer(sentence, (NEWEST, _RUNS) if is_asker else (_RUNS,))


def _again(match: re.Match[str], fleet: FleetSnapshot) -> Pointer:
    """Return how a request runs again, with the device that words name instead."""
    other = _only_device(match["other"] or "", fleet)
    value = f" --with NAME={shlex.quote(other.name) if other is not None else 'DEVICE'}" if match["other"] else ""
    sentence = (
        "Run again on the page of a request begins with the same values, and each can be changed there; in a terminal "
        f"`starloom again{value}` does so with the newest"
    )
    return Pointer(sentence, (NEWEST, _RUNS))


def _done_by(match: re.Match[str], fleet: FleetSnapshot) -> Pointer | None:
    """Return where the work of a person stands; a device of that name is no person."""
    name = _person(match["doer"], fleet)
    if name and _only_device(name, fleet) is not None and name == match["doer"]:
        return None
    did = "you" if match["doer"].casefold() in _ASKER else name or "everyone"
    by, of = (f" --by {name}", f" --of {name}") if name else ("", "")
    return Pointer(
        f"Activity lists what {did} did, and Constellations the work that came of it; in a terminal "
        f"`starloom activity{by}` and `starloom ls{of}` do",
        (_ACTIVITY, _RUNS),
    )


def _online(match: re.Match[str], fleet: FleetSnapshot) -> Pointer | None:
    """Return whether a device is connected, which the hub knows without asking it; no kind of device is a site."""
    device = _only_device(match["device"], fleet)
    if device is None:
        return _ALL_ONLINE if _is_a_kind(match["device"]) else None
    now = "is connected now" if device.online else "is not connected now"
    return Pointer(f"the device {device.name} {now}; `starloom devices` shows since when", (_page_of(device),))


def _is_a_kind(text: str) -> bool:
    """Tell whether words are a kind of device: *the server*, *our machines*."""
    words = text.casefold().removeprefix("the ").removeprefix("my ").removeprefix("our ")
    return singular(words) in MACHINES


def _whereabouts(match: re.Match[str], fleet: FleetSnapshot) -> Pointer | None:
    """Return what the hub knows of a device that somebody looks for; words for anything else look for a file."""
    device = _only_device(match["sought"], fleet)
    if device is None:
        return None
    now = "is connected now" if device.online else "is not connected now"
    sentence = (
        f"the hub does not know where {device.name} lies, only that it {now}; `starloom devices` shows since when"
    )
    return Pointer(sentence, (_page_of(device),))


def _battery(match: re.Match[str], fleet: FleetSnapshot) -> Pointer | None:
    """Return the page that draws the battery of a device."""
    device = _only_device(match["charged"] or match["powered"], fleet)
    if device is None:
        return None
    return Pointer(
        f"the page of {device.name} shows its battery over the last hour, as `starloom device show "
        f"{shlex.quote(device.name)}` does, where the device has one",
        (_page_of(device),),
    )


def _page_of(device: DeviceSnapshot) -> Place:
    return Place(device.name, f"/devices/{quote(device.id, safe='')}")


def _notification(_match: re.Match[str], fleet: FleetSnapshot) -> Pointer:
    phones = of_class("phone", fleet.devices)
    on = f" --notify-on {shlex.quote(phones[0].name)}" if phones else ""
    sentence = (
        f"`starloom schedule add` with `--notify always{on}` tells it each time; for one run, add a last task with the "
        "tool `notify` to its plan, or wait with `starloom watch`"
    )
    return Pointer(sentence, (_SCHEDULES, Place("New, Build", "/new")))


def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_POINTERS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], FleetSnapshot], Pointer | None]], ...]] = (
    (
        _whole(
            r"(?:what|which (?:things|work|requests)) (?:did|has|have|was|is)"
            r" (?P<doer>(?!it\b|this\b|that\b)[\w.@+-]{1,40})"
            r" (?:do|done|doing|been doing|been up to|ask(?:ed)? for|start(?:ed)?|run|changed?)"
            r"(?: (?:so far|since yesterday|(?:this|last) (?:month|year)))?" + _LATELY
        ),
        _done_by,
    ),
    (
        _whole(
            r"(?:is|are) (?P<device>(?:the |my |our )?[^\s,;\"`](?:[^,;\"`]{0,58}?[^\s,;\"`])??)"
            r"(?: (?:still|back|really|already|currently|ever|not))* "
            r"(?:online|offline|awake|asleep|on|off|up|down|connected|disconnected|alive|reachable|there|away|gone|back)"
            r"(?: (?:right|today|again|yet|still|at the moment))?"
        ),
        _online,
    ),
    (
        _whole(
            r"(?:who|what|which (?:of )?(?:my |our |the )?(?:devices?|machines?|computers?|phones?|servers?|ones?)) "
            r"(?:is|are) (?:online|offline|connected|disconnected|up|down|off|on|away|there|gone)"
            r"(?: (?:right|today|at the moment))?"
        ),
        lambda _match, _fleet: _ALL_ONLINE,
    ),
    (
        _whole(
            r"(?:what|whats|what's) (?:has )?(?:happened|changed|ran|run|went wrong|was done|failed)"
            r"(?: (?:here|last night|yesterday|today|tonight|overnight|since (?:yesterday|this morning)|this morning|"
            r"(?:this|last) week|over the weekend|while i was (?:away|gone|asleep|out)))+"
        ),
        _plain(
            "Constellations lists the work, newest first, with what failed (`starloom ls`), and Activity who did what "
            "(`starloom activity`)",
            _RUNS,
            _ACTIVITY,
        ),
    ),
    (_whole(r"(?:where is|where's|ring|locate) (?P<sought>(?:the |my )?[\w. -]{1,40})"), _whereabouts),
    (
        _whole(
            r"(?:how (?:full|charged|good) is )?(?:the )?battery (?:level )?(?:of|on|in) "
            r"(?P<charged>(?:the |my )?[\w. -]{1,40})"
            r"|how (?:much battery|charged) (?:has|does|is) (?P<powered>(?:the |my )?[\w. -]{1,40}?)"
            r"(?: (?:have|left|charged|have left))*"
        ),
        _battery,
    ),
    (
        _whole(
            r"when (?:did (?:i|we) last (?:back up|copy)|was the last (?:backup|copy)(?: of)?)(?: [\w./~ -]{1,60})?"
            r"|(?:is|are|was|were) (?:my |our |the )?[\w./~-]{1,40} (?:backed up|copied)"
            r"(?: (?:anywhere|yet|already|somewhere))?"
        ),
        _plain(
            "the hub keeps no list of which file lies where; Constellations lists the backups and copies that ran, "
            "newest first (`starloom ls`), and the answer of each names its files",
            _RUNS,
        ),
    ),
    (
        _whole(
            r"(?:how (?:do|can|could|should|would|to)(?: (?:i|we|one|you))?"
            r"|i (?:want|need|would like) to|can i|where do i) "
            r"(?:add|connect|join|enroll|enrol|pair|hook up)"
            rf"(?: up)?(?: (?:a|an|my|our|another|one|more|the|new|second|other|to|this|old))*(?: {_DEVICE}){{1,2}}"
            r"(?: (?:to|with|in|into|on) (?:starloom|this|it|the fleet|here))?(?: here)?"
        ),
        _plain(
            "a device joins by a code that is good once: `starloom enroll` prints it with the line to type there, and "
            "the page shows a picture of it that a phone scans",
            _FLEET,
        ),
    ),
    (
        _whole(
            r"who(?:'s| has| is| was it that| was)? "
            r"(?:asked|asking|started|starting|wants|wanted|ordered|runs|running|began|made|requested|did|doing)"
            rf"(?: for)? (?:all )?{_SUBJECT}{_LATELY}"
        ),
        _plain(
            "Constellations lists each with the person who asked for it (`starloom ls`), and Activity who did what "
            "(`starloom activity`)",
            _RUNS,
            _ACTIVITY,
        ),
    ),
    (
        _whole(
            r"(?:what|which things) (?:can|could|do|will|else can) (?:you|starloom|it|this|i|we) "
            r"(?:do|ask|say|type|offer)"
            r"(?: (?:here|for me|for us|with you|with this|with starloom|with it|you))*"
            r"|what are you able to do|what (?:is|are) (?:starloom|you)|how does (?:this|starloom|it) work|help(?: me)?"
            r"|who are you|what do you understand"
        ),
        _plain(
            "Starloom looks after devices, copies and checks files between them, and runs work on them; "
            "Recipes lists all that it does in words, with a sentence for each (`starloom recipes`)",
            _RECIPES,
        ),
    ),
    (
        _whole(
            rf"why (?:{_IS_NOT}) {_SUBJECT}(?: (?:still|just|only|always))*(?: (?:not|never))?(?: (?:been|yet|even))*"
            r" (?:start|started|starting|run|running|move|moving|work|working|begin|begun|wait|waiting|stuck|finish|"
            r"finished|done|happen|happening|hang|hanging|blocked|paused|fail|failed|failing|stop|stopped|"
            r"taking so long|take so long)"
            r"(?: (?:yet|at all|now|again|today))*"
            rf"|why (?:is )?nothing (?:happens|happening|starts|moves)|what is {_SUBJECT} waiting for"
        ),
        _plain(
            "the page of a request says beside each task why it waits or failed, and the way out; in a terminal "
            "`starloom why` says it of the newest",
            NEWEST,
            _RUNS,
        ),
    ),
    (
        _whole(
            rf"how (?:long|much longer) (?:will|does|would|is|has|must|do)(?: (?:i|we) have to wait for)? {_SUBJECT}"
            r"(?: (?:still|take|taking|need|last|run|running|going|to|be|usually|until|till|it|is|done|finished))*"
            rf"|when (?:is|are|will|does) {_SUBJECT}(?: be)? (?:{_DONE}|end|finish)"
            rf"|(?:is|are) (?:it|this|that|everything) {_DONE}(?: yet| now| already)?|how far (?:is|are) {_SUBJECT}"
        ),
        _plain(
            "the preview shows the expected time before the start, and `starloom what-if` says it of a plan or of what "
            "runs; the page of a constellation shows how far it is",
            _RUNS,
        ),
    ),
    (
        _whole(
            rf"{_STOPS} {_ALL}(?: (?:that|which|what))? (?P<who>[\w.-]{{1,40}})(?: has| is| had)? "
            r"(?:asked(?: for)?|started|wants|wanted|ordered|began|running|doing|runs|requested|submitted)"
        ),
        _of_person,
    ),
    (
        _whole(
            rf"{_UNDO} (?:what|whatever|{_ALL}(?: that| which| what)?|the last thing that)"
            r" (?P<undone>(?!it\b|this\b|that\b)[\w.@+-]{1,40})(?: has| had| just)? "
            rf"(?:did|done|changed|started|asked for|ran|made|moved|deleted|copied|wrote){_LATELY}"
            rf"|{_UNDO}(?: {_LAST})?(?: (?:again|back))?|(?:take|roll|put) {_LAST} back"
        ),
        _undone_of,
    ),
    (
        _whole(
            rf"(?:(?:(?:do|run|start|try|make) {_LAST} )?{_MORE}|(?:repeat|redo|rerun)(?: {_LAST})?(?: {_MORE})?"
            rf"|(?:(?:do|run|make) )?(?:the )?same(?: thing)?(?: {_MORE})?|and(?: now)?(?= {_BESIDE} ))"
            r"(?:,? (?:but|and|now|this time|only|just))*"
            rf"(?: {_BESIDE} (?P<other>[^,;]{{1,60}}?))?(?: (?:instead|this time|too|as well))*"
        ),
        _again,
    ),
    (
        _whole(rf"{_STOPS} {_ALL}(?: (?:now|at once|immediately|everywhere|that is running|that runs))*"),
        _plain(
            "Fleet, Stop everything asks first, then cancels every constellation on all devices, and shows which have "
            "confirmed; in a terminal `starloom stop-all` does so at once, and `starloom cancel` ends one alone",
            _STOP,
        ),
    ),
    (
        _whole(
            r"(?:tell|text|message|notify|ping|alert|inform|call|let|send|write)(?: to)? (?:me|us)(?: know)?"
            r"(?: (?:on|to|at|by|a|message|note|my|the|phone|mobile|iphone|handy|sms|mail))*"
            rf" (?:when|once|as soon as|if|after) {_SUBJECT}(?:'s| is| has| are| was)?(?: been)? {_DONE}"
        ),
        _notification,
    ),
    (
        _whole(
            rf"(?:how much|what) (?:did|does|has|will) {_MODEL} (?:cost|costs|used|use|spent|spend)(?: (?:me|us|you))?"
            rf"{_SO_FAR}"
            rf"|how much (?:money )?(?:have|did) (?:i|we|you) (?:spent|spend|paid|pay) (?:on|for) {_MODEL}{_SO_FAR}"
            rf"|(?:what (?:is|are) )?the costs? of {_MODEL}{_SO_FAR}"
        ),
        _plain(
            "the settings show what the model has used today and its bounds; the page of a constellation shows what "
            "its own calls cost, as `starloom report` does",
            _MODEL_SETTINGS,
            _RUNS,
        ),
    ),
)
_RUNNING: Final = _whole(
    r"(?:(?:what(?:'s|s| is)|who is|which (?:tasks?|jobs?|work) (?:is|are)) "
    r"(?:running|going on|happening|at work|busy|being done)|what runs)"
    r"(?: right now| now| at the moment)?(?: on (?P<where>.+?))?(?: right now| now| at the moment)?"
)

_STOPPING: Final = _whole(
    rf"(?:{_STOPS}|drain|empty) (?:{_ALL}(?: (?:that|which|what))?(?: (?:is|are))?"
    r"(?: (?:runs?|running|going on|works?|working|goes on))? (?:on|at) (?P<where>(?:the |my )?[\w.-]{1,40})"
    r"|(?P<device>(?:the |my )?[\w.-]{1,40}))"
)


def pointer_in(words: str, fleet: FleetSnapshot) -> Pointer | None:
    """Return the answer to words that ask about Starloom from the first to the last; None for all others."""
    request = _without_courtesies(words)
    for pattern, point in _POINTERS:
        match = pattern.fullmatch(request)
        answer = point(match, fleet) if match is not None else None
        if answer is not None:
            return answer
    return None


def running_in(words: str, fleet: FleetSnapshot) -> Pointer | None:
    """Return where the work that is under way stands, for words that ask what is running, on one device or at all."""
    match = _RUNNING.fullmatch(_without_courtesies(words))
    if match is None:
        return None
    device = _only_device(match["where"] or "", fleet)
    if device is not None:
        sentence = (
            f"`starloom device show {shlex.quote(device.name)}` names the tasks under way there and who asked for each"
        )
        return Pointer(sentence, (_page_of(device),))
    return None if match["where"] else Pointer("`starloom ls` lists the work that is under way", (_RUNS,))


def stopping_in(words: str, fleet: FleetSnapshot) -> Pointer | None:
    """Return the commands that free a device of work, for words that ask to stop or drain one alone."""
    match = _STOPPING.fullmatch(_without_courtesies(words))
    if match is None:
        return None
    device = _only_device(match["device"] or match["where"], fleet)
    if device is None and match["device"]:
        return None
    name = shlex.quote(device.name) if device else "DEVICE"
    sentence = (
        f"`starloom cancel --on {name}` cancels all that has work there, after a question that lists it; "
        f"`starloom device drain {name}` lets what runs go on and gives the device nothing new"
    )
    return Pointer(sentence, (_page_of(device) if device else _STOP,))


def _without_courtesies(words: str) -> str:
    plain = words.replace("\u2019", "'").split()
    return " ".join(word for word in plain if plain_word(word) not in COURTESIES | {"pls"}).strip(" .!?,")


def _only_device(words: str, fleet: FleetSnapshot) -> DeviceSnapshot | None:
    """Return the device that words name, also as *till 2* for *till-2*, or the only one of a kind: *my phone*."""
    name = words.casefold().removeprefix("the ").removeprefix("my ")
    devices = fleet.devices_called(name) or of_class(name, fleet.devices)
    return devices[0] if len(devices) == 1 else None
