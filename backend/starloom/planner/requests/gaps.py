"""Requests that people make and no recipe carries out: restarts of devices, deletions, comparisons, lists by date.

Owns the patterns of such words and the sentence about each, with requests that work here. Pure; it starts nothing, and
must not be asked about words that a recipe takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from starloom.planner.fleet import (
    DEVICE_CLASSES,
    MACHINES,
    DeviceSnapshot,
    FleetSnapshot,
    class_of,
    gone_in,
    gone_words,
    of_class,
    singular,
)
from starloom.planner.requests.clauses import ARTICLES, MONTHS, plain_word, word_set

_LOOKS: Final = word_set("what show read get see give tell display take")
_PLACES: Final = word_set(
    "computer machine device pc laptop notebook server system phone desktop box host whole again at now tonight night"
    " tomorrow today every"
)
_SEASONS: Final = "spring|summer|autumn|fall|winter|year|month|week|weekend|night|christmas|holidays?"
_RESTART: Final = re.compile(r"(?:restart|reboot|shut ?down|power off|switch off|turn off)\b(?P<rest>.*)")
_CLOCK: Final = re.compile(r"\b\d{1,2}(?:[:.]\d\d)?(?: ?[ap]m| o'clock)?(?!\S)")
_DELETE: Final = re.compile(r"(?:delete|remove|erase|wipe|clean up|get rid of)\b")
_COMPARE: Final = re.compile(r"(?:compare|diff)\b")
_PROGRAMS: Final = re.compile(
    r".*\b(?:programs?|processes|process|apps?|applications?)\b.*\b(?:memory|ram|cpu|processor)\b"
)
_RUNNING: Final = re.compile(r"(?:(?:what(?:'s| is)|which programs? (?:is|are)) running|what runs) on\b")
_MOVE: Final = re.compile(r"(?:move|sync|synchroni[sz]e|mirror)\b")
_FOLDER: Final = re.compile(
    r"(?i:move|sync|synchroni[sz]e|mirror|compare|diff|copy|share|send|run|tidy|tidy up|sort) (?:(?i:the|my|all of) )?"
    r"(?:(?i:file|folder|script) )?"
    r"(?P<folder>[^\s,*`]{1,80}|\"[^\"*`]{1,80}\") (?i:from|of|off|on|to|onto|between|by)\b"
)
_FOLDER_IN: Final = re.compile(
    r"(?i:in|into) (?:(?i:the|my) )?(?:(?i:folder) )?(?P<folder>[^\s,*`]{1,80}|\"[^\"*`]{1,80}\") (?i:of|on)\b"
)
_SCRIPT: Final = re.compile(r"run\b.*\.py (?:of|from|on) (?P<device>.+?) over (?P<rest>.+)")
_ONE_HAS: Final = re.compile(
    r"(?:which|what|all|everything|the (?:files|pictures|photos))\b.*\b(?:not|missing|only) (?:on|in)\b"
)
_RENAME: Final = re.compile(r"rename (?:(?:the|my) )?(?:device |machine |phone )?(?P<rest>.*)")
_END: Final = re.compile(
    r"(?:stop|cancel|abort|undo|take back)(?:$|\b(?: (?:it|that|this|everything|all)$"
    r"|.*\b(?:running|backups?|copy|copying|search|run|work|tasks?|jobs?|constellation|requests?|update)\b))"
)
_STATE: Final = (
    r"(?:(?:back|up|down|on|off|online|offline|away|gone|dead|alive|awake|asleep|(?:dis|re)?connected|(?:un)?reachable)"
    r"\b ?)+"
)
_UP: Final = re.compile(rf"(?:is|are)\b.*\b{_STATE}$")
_BY_DATE_TAKEN: Final = re.compile(
    r"(?:rename|sort|name|order)\b.*\b(?:photos?|pictures?|images?|pics|files?|videos?)\b.*\b"
    r"(?:by (?:the )?(?:date|day|time|month|year)|when (?:they|it) (?:were|was) (?:taken|made))\b"
)
_EMPTY: Final = re.compile(r"empty\b.*\b(?:trash|bin)\b")
_SEEN: Final = re.compile(
    r"(?:when (?:was|did)|what (?:did|has|was))\b.*\b(?:last|do|doing|done|seen|yesterday|today)\b"
    r"|who (?:used|touched|changed|deleted|moved|did|ran|was)\b"
)
_LINK: Final = re.compile(
    r"(?:send|share|publish|give|make|create|get)\b.*\b(?:(?:by|with|as|via|through|using|over) (?:a |an |the )?"
    r"(?:public |download |web )?links?|(?:a|an|the) (?:public |download |web |share )?link (?:to|for|of))\b"
)
_SKIP: Final = re.compile(
    r"(?:copy|send|put|collect|bring)\b.*\b(?:(?:skip|leave out|ignore|leave)\b.*"
    r"\b(?:it|them|those|existing|exists?|there|ones|same)\b|(?:not|never|don't|without) (?:over)?writ(?:e|ing)\b)"
)
_FILE_NAME: Final = r"(?:the (?:file|list) )?(?P<{}>[^\s,*`\"{{}}]{{1,80}}\.\w{{1,8}}|\"[^\"*`{{}}]{{1,80}}\")"
_ONLY_IN_ONE: Final = re.compile(
    r"(?:who|what|which|everyone|everybody|everything|all|the|show|list|find)\b.*?\b(?:in|of|from) "
    rf"{_FILE_NAME.format('first')}(?: (?:of|on) [^\s,]+)?(?:,? (?:and|but))?(?: (?:is|are))? (?:not|missing)"
    rf"(?: listed| there)? (?:in|from) {_FILE_NAME.format('second')}",
    re.IGNORECASE,
)
_VERSIONS: Final = re.compile(
    r"(?:who|where|which|what|is|are|does|do|has)\b.*?\b(?:old(?:er)?|outdated|earlier|other|different|previous) "
    rf"(?:versions?|copies|copy) of {_FILE_NAME.format('first')}",
    re.IGNORECASE,
)
_ASK: Final = r"ask (?:(?:the|my) )?(?:phone|tablet|laptop|computer|{})\b(?! (?:if|whether|for)\b)"
_WATCH: Final = re.compile(
    r"(?:tell|warn|alert|notify|inform|e-?mail|message|text|ping|let) me (?:know )?"
    r"(?:when|if|as soon as|whenever|once)\b"
)
_WATCH_DEVICE: Final = re.compile(
    rf"{_WATCH.pattern}.*\b(?:is|are|was|has|goes|go|comes|come|gets|becomes|turns) (?:been |not )?"
    rf"{_STATE}(?:again|now|here)?$"
)
_PRINT: Final = re.compile(r"print(?: out)?\b(?!.*\b(?:screen|preview)\b)|.+ on (?:the |my |our )?(?:\w+ )?printer$")
_MAIL: Final = r"(?:(?:e-?)?mails?|sms|text messages?|whats ?app|telegram|signal|slack|fax|letter)"
_SEND: Final = re.compile(
    rf"(?:e-?mail|mail|whats ?app|fax|sms)\b.*"
    rf"|(?:send|write|forward|post|share)\b.*\b(?:an? |by |via |per |as |with |over |on ){_MAIL}\b.*"
    r"|(?:text|message|call|phone|ring|write to) [^\s\"`]+(?: (?:that|to|about|and|at|when)\b.*)?"
)
_RECEIVER: Final = re.compile(r"\b(?:to|message|text|call|ring)\b")
_OPERATE: Final = re.compile(
    r"(?:lock|unlock|mute|unmute|dim|log ?(?:out|off|in)|sign (?:out|in)|suspend|hibernate|put .+ to sleep"
    r"|(?:turn|switch) (?:up|down|off)|(?:set|change|raise|lower))\b(?P<rest>.*)"
)
_WAKE: Final = re.compile(r"(?:wake(?: up)?|turn on|switch on|power on|boot|start(?: up)?)\b(?P<rest>.+)")
_PARTS: Final = word_set(
    "screen screens display displays monitor volume sound brightness wallpaper keyboard session sleep"
)
_WATCH_DISK: Final = re.compile(rf"{_WATCH.pattern}.*\b(?:full|(?:no|little|out of) (?:space|room))\b")
_WATCH_FOLDER: Final = re.compile(
    rf"{_WATCH.pattern}(?=.*\b(?:files?|pictures?|photos?|scans?|something|anything)\b)"
    r"(?=.*\b(?:appears?|arrives?|comes?|lands?|added|new|there|put)\b).*\bin(?:to)?\b"
)
_WATCH_SITE: Final = re.compile(
    rf"{_WATCH.pattern}.*(?:\b(?:(?:web ?)?site|web ?page|home ?page)\b|https?://\S|\b[\w-]+\.(?:com|org|net|de|at|eu)\b)"
    r".*\b(?:down|up|offline|online|gone|back|reachable|unreachable|answers?)\b"
)
_INSTALL: Final = re.compile(r"(?:install|uninstall|reinstall)\b(?!.*\b(?:updates?|upgrades?|patch(?:es)?)\b)")
_BY_DATE: Final = re.compile(
    rf"(?:find|search|show|list|which|where)\b.*\b(?:from|of|in|since|before|after)\s+(?:(?:last|this)\s+(?:{_SEASONS})|"
    rf"(?:19|20)\d\d|yesterday|{'|'.join(sorted(MONTHS))})\b"
)


@dataclass(frozen=True)
class _Way:
    """A request that works here on devices that may do what it needs.

    `{one}` is one of them, `{two}` are two. `{other}` is another one, which has to offer `other_needs`. `{folder}` is
    the folder or file of the words, and `{bare}` the same without quotes; `{first}` and `{second}` are two files.
    """

    words: str
    needs: tuple[str, ...]
    other_needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Gap:
    """A kind of request, the sentence about it, and the requests that come near to it."""

    fits: Callable[[str, FleetSnapshot], bool]
    sentence: str
    ways: tuple[_Way, ...]
    of_a_clause: bool = False
    """Whether it is about a clause behind a request that a recipe takes without it."""


def _of_a_device(pattern: re.Pattern[str]) -> Callable[[str, FleetSnapshot], bool]:
    """Return the test of words that begin so and go on with a device, and with no service of it."""

    def fits(request: str, fleet: FleetSnapshot) -> bool:
        act = pattern.match(request)
        return act is not None and _is_a_device(act["rest"], fleet)

    return fits


def _is_a_device(words: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words are devices alone, and perhaps a time."""
    rest = _CLOCK.sub(" ", words)
    for device in sorted(fleet.devices, key=lambda device: len(device.name), reverse=True):
        rest = device.name_pattern.sub(" ", rest)
    return all(plain_word(word) in _PLACES | ARTICLES for word in rest.split())


def _like(pattern: re.Pattern[str]) -> Callable[[str, FleetSnapshot], bool]:
    return lambda request, _fleet: pattern.match(request) is not None


def _of_named(pattern: re.Pattern[str]) -> Callable[[str, FleetSnapshot], bool]:
    """Return the test of words that begin so and name a device."""
    return lambda request, fleet: pattern.match(request) is not None and _names_a_device(request, fleet)


def _names_a_device(text: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words have the name of a device or a word for devices: *the server*."""
    words = {singular(plain_word(word)) for word in text.split()}
    return not words.isdisjoint(MACHINES) or any(one.named_in(text) for one in fleet.devices)


def _sends(request: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words send something to a person: no message in quotes, and none to a device, as *message nas*."""
    if '"' in request or not _SEND.fullmatch(request):
        return False
    return not any(_names_a_device(part, fleet) for part in _RECEIVER.split(request)[1:])


def _operates(text: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words operate a device itself or a part of it: its lock, sound or screen."""
    act = _OPERATE.match(text)
    if act is None:
        return False
    of_a_part = not _PARTS.isdisjoint(map(plain_word, act["rest"].split()))
    return of_a_part or (act["rest"] != "" and _is_a_device(act["rest"], fleet))


def _moves(request: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words move something between devices; moving anything else is work for a model."""
    return _MOVE.match(request) is not None and sum(device.named_in(request) for device in fleet.devices) > 1


def _from_another(request: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words run a script of one device over files of another."""
    script = _SCRIPT.match(request)
    two = sum(device.named_in(request) for device in fleet.devices) > 1
    return script is not None and two and script["device"] not in script["rest"]


def _renames(request: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words give a device another name; files are renamed by other words."""
    renaming = _RENAME.match(request)
    return renaming is not None and any(device.name_pattern.match(renaming["rest"]) for device in fleet.devices)


def _compares(request: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words compare devices, or folders of them; other comparisons are work for a model."""
    return _COMPARE.match(request) is not None and any(device.named_in(request) for device in fleet.devices)


def _asks(request: str, fleet: FleetSnapshot) -> bool:
    """Tell whether words ask somebody at a device something, with neither quotes nor a colon around it."""
    names = "|".join(re.escape(device.name.casefold()) for device in fleet.devices)
    return '"' not in request and re.match(_ASK.format(names), request) is not None


_SEARCH: Final = ("fs.find", "fs.hash")
_COMMAND: Final = ("shell.run",)
_SENDS: Final = ("fs.find", "fs.hash", "artifact.put")
_STORES: Final = ("fs.write", "fs.hash", "fs.verify")
_LOOK_NOW: Final = _Way("*how is {one}* looks at it now", ("system.info",))
_LOOK_EACH_HOUR: Final = (
    _Way(
        '`starloom schedule add "how is {one}" --cron "every hour" --notify change` looks each hour', ("system.info",)
    ),
    _Way("*how is {one}* looks once", ("system.info",)),
)
_GAPS: Final = (
    _Gap(
        _of_a_device(_RESTART),
        "no recipe restarts or turns off a whole device",
        (
            _Way("*restart nginx on {one}* restarts one service", ("service.restart",)),
            _Way(
                "*run systemctl reboot on {one}* runs that command where its owner has granted it",
                _COMMAND,
            ),
        ),
    ),
    _Gap(
        _like(_DELETE),
        "no recipe deletes files",
        (
            _Way("*largest files on {one}* and *find duplicates on {one}* show what takes room", _SEARCH),
            _Way(
                "*find duplicates on {one} and put the extra ones into the trash* asks first",
                (*_SEARCH, "fs.trash"),
            ),
        ),
    ),
    _Gap(
        _compares,
        "no recipe compares whole devices",
        (
            _Way("*compare {folder} on {one} with {folder} on {other}* compares two folders", _SEARCH, _SEARCH),
            _Way("*find duplicates on {two}* shows the files that are equal", (*_SEARCH, "fs.trash")),
            _Way("*run uptime on {two}* marks where the output of a command differs", _COMMAND),
        ),
    ),
    _Gap(
        _renames,
        "a request gives no device another name; its owner does, on its page or by `starloom device rename`",
        (),
    ),
    _Gap(
        _like(_END),
        "words start work and end none; `starloom cancel` ends what runs and `starloom undo` takes it back, as its "
        "page does",
        (_LOOK_NOW,),
    ),
    _Gap(
        _of_named(_UP),
        "`starloom devices` and the page *Fleet* show which devices are connected, and since when one is away",
        (_LOOK_NOW,),
    ),
    _Gap(
        _like(_PRINT),
        "no recipe and no tool prints; a command does, where the owner has granted it: "
        "`starloom-agent grant shell:run -- lp {\\S+}`",
        (_Way("*run lp letter.pdf on {one}* is such a request", _COMMAND),),
        of_a_clause=True,
    ),
    _Gap(
        _sends,
        "no recipe and no tool sends mail or messages to people: they go to devices of this fleet",
        (
            _Way('*send "hello" to {one}* shows a message there', ("notify",)),
            _Way("*copy Documents from {one} to {other}* brings a folder to another device", _SENDS, _STORES),
        ),
        of_a_clause=True,
    ),
    _Gap(
        _of_a_device(_WAKE),
        "no recipe and no tool turns a device on; a task for one that is away waits until it is connected",
        (_LOOK_NOW,),
        of_a_clause=True,
    ),
    _Gap(
        _operates,
        "no recipe and no tool operates a device itself, its screen or its sound; a command may, where its owner has "
        "granted it",
        (_Way("*run loginctl lock-sessions on {one}* is such a request", _COMMAND),),
        of_a_clause=True,
    ),
    _Gap(
        _like(_LINK),
        "no recipe makes a link for others: what a device gives goes to devices of this fleet and to its people alone",
        (
            _Way("*zip the folder {folder} on {one}* makes one file of it", ("archive.zip", "fs.write", "fs.hash")),
            _Way("*copy {folder} from {one} to {other}* brings it to another device", _SENDS, _STORES),
        ),
    ),
    _Gap(
        _like(_SKIP),
        "a copy overwrites nothing and leaves nothing out: a file of that name stays as it is, and the new one gets a "
        "number beside it; one with the same contents is not copied again",
        (_Way("*copy {folder} from {one} to {other}* copies so", _SENDS, _STORES),),
        of_a_clause=True,
    ),
    _Gap(
        _like(_BY_DATE_TAKEN),
        "no recipe renames files, and no tool reads when a picture was taken",
        (
            _Way("*list the files in Pictures on {one}* shows each with the date of its last change", ("fs.list",)),
            _Way(
                "*make a contact sheet of Pictures on {one}* shows the pictures themselves", ("fs.find", "image.sheet")
            ),
        ),
    ),
    _Gap(
        _like(_EMPTY),
        "only the trash that holds the files of earlier requests can be emptied, on one device at a time",
        (_Way("*empty the trash of {one}* asks first", ("trash.empty",)),),
    ),
    _Gap(
        _of_named(_SEEN),
        "the record of who did what is on the page *Activity*, and in `starloom activity --device`",
        (_LOOK_NOW,),
    ),
    _Gap(
        _moves,
        "no recipe moves files or keeps folders equal",
        (
            _Way(
                "*copy {folder} from {one} to {other}* copies what differs, reads each copy back, names what was left "
                "out, and removes nothing",
                _SENDS,
                _STORES,
            ),
        ),
    ),
    _Gap(
        lambda request, fleet: (
            _like(_ONE_HAS)(request, fleet) and sum(one.named_in(request) for one in fleet.devices) > 1
        ),
        "no recipe looks through whole devices for what only one of them has",
        (
            _Way(
                "*compare Documents on {one} with Documents on {other}* names what is only in one of two folders",
                _SEARCH,
                _SEARCH,
            ),
        ),
    ),
    _Gap(
        _like(_WATCH_SITE),
        "no recipe waits for a site to go down or up; a schedule looks again and again, and tells you when it is down "
        "and when all is well again",
        (
            _Way(
                '`starloom schedule add "is example.org up" --cron "every hour"` looks each hour, with the address of '
                "yours",
                ("net.check",),
            ),
        ),
    ),
    _Gap(
        _like(_INSTALL),
        "no recipe installs programs; a command does, where the owner has granted it: "
        "`starloom-agent grant shell:run -- apt-get install -y {[a-z0-9.+-]+}`",
        (_Way("*run apt-get install -y htop on {one}* is such a request", _COMMAND),),
    ),
    _Gap(
        _from_another,
        "a script runs over files of the device that it lies on",
        (
            _Way("*copy the file {folder} from {one} to {other}* brings it there", _SENDS, _STORES),
            _Way(
                "*run {folder} over data of {other} on {other}* runs it over each file", (), ("python.run", "fs.find")
            ),
        ),
        of_a_clause=True,
    ),
    _Gap(
        _of_named(_WATCH_DISK),
        "no recipe waits for a disk to be full; a schedule looks again and again, and tells you once it is nearly full "
        "and once it is not any more",
        (
            _Way('`starloom schedule add "is {one} nearly full" --cron "every hour"` looks each hour', ("disk.usage",)),
            _Way("*is {one} nearly full* looks once", ("disk.usage",)),
        ),
    ),
    _Gap(
        _of_named(_WATCH_FOLDER),
        "no recipe waits for a file; a schedule looks again and again, and tells you when the list is another one",
        (
            _Way(
                '`starloom schedule add "list the files in {bare} on {one}" --cron "every hour" --notify change` '
                "looks each hour",
                ("fs.list",),
            ),
            _Way("*list the files in {folder} on {one}* looks once", ("fs.list",)),
        ),
    ),
    _Gap(
        _of_named(_WATCH_DEVICE),
        "`starloom devices` and the page *Fleet* show which devices are connected, and since when one is away; no "
        "recipe waits for one to come or go, and a schedule tells you of it at its next look",
        _LOOK_EACH_HOUR,
    ),
    _Gap(
        _of_named(_WATCH),
        "no recipe waits for something to happen; a schedule looks again and again, and tells you of a failure or a "
        "change",
        _LOOK_EACH_HOUR,
    ),
    _Gap(
        _like(_ONLY_IN_ONE),
        "no recipe lists the lines that only one of two files has",
        (
            _Way(
                "*compare {first} on {one} with {second} on {other}* shows the lines that only one of two devices has "
                "in its file",
                ("fs.find", "fs.read"),
                ("fs.find", "fs.read"),
            ),
            _Way(
                "*run grep -vxFf {second} {first} on {one}* lists them where both files are on one device and its "
                "owner has granted that command",
                _COMMAND,
            ),
        ),
        of_a_clause=True,
    ),
    _Gap(
        _like(_VERSIONS),
        "no recipe tells which version of a file is the old one",
        (_Way("*find {first}* lists each file of that name with its device and its time, the newest first", _SEARCH),),
    ),
    _Gap(
        _asks,
        "a question of its own stands behind a colon or in quotes, as in *ask my phone: is dinner ready?*, and is "
        "answered with yes or no",
        (),
    ),
    _Gap(
        lambda request, fleet: _like(_PROGRAMS)(request, fleet) or _like(_RUNNING)(request, fleet),
        "no recipe lists programs",
        (
            _Way("*how is {one}* tells its memory", ("system.info",)),
            _Way("*run ps aux on {one}* lists its programs where its owner has granted that command", _COMMAND),
        ),
    ),
    _Gap(
        _like(_BY_DATE),
        "no recipe finds files by date",
        (_Way("*find IMG_2025 on {one}* finds them by words of their names, with the date of each", ("fs.find",)),),
    ),
)


def gap_in(words: str, fleet: FleetSnapshot, *, of_a_clause: bool = False) -> str:
    """Return the sentence about words that no recipe carries out, with the devices that they name; empty if unknown.

    `of_a_clause`: a recipe takes them but for a clause.
    """
    request = " ".join(words.casefold().replace("please ", "").split()).strip(" .!?")
    if not of_a_clause and (gone := gone_in(request, fleet)):
        return f"{gone_words(gone)}."
    if not fleet.devices:
        return ""
    for gap in _GAPS:
        if (gap.of_a_clause or not of_a_clause) and gap.fits(request, fleet):
            examples = _examples_in(words, fleet)
            of_its_kind = _called_by_kind(request, fleet.devices)
            ordered = sorted(
                fleet.devices,
                key=lambda one: (_place(one, request), one.name not in of_its_kind, one.demo, not one.online, one.name),
            )
            ways = ", and ".join(filter(None, (_way(way, ordered, examples) for way in gap.ways)))
            return f"{gap.sentence}. {ways}" if ways else gap.sentence
    return ""


def row_for(words: str, fleet: FleetSnapshot, telling: Collection[str]) -> str:
    """Return the sentence about a row for what no recipe does: words name the subject of a tool that a device offers.

    `telling` are the words that recipes are about: *disk* is one, and *clipboard* is none.
    """
    plain = [plain_word(word) for word in words.split()]
    subjects = {word for word in plain if word not in telling}
    offering: dict[int, bool] = {}  # many devices share one set of tools
    for device in fleet.devices:
        if id(device.tools) not in offering:
            offering[id(device.tools)] = any(tool.partition(".")[0] in subjects for tool in device.tools)
    able = [device for device in fleet.devices if offering[id(device.tools)]]
    of_its_kind = _called_by_kind(words, able)
    ordered = sorted(
        able,
        key=lambda one: (
            not one.named_in(words.casefold()),
            one.name not in of_its_kind,
            one.demo,
            not one.online,
            one.name,
        ),
    )
    if not ordered:
        return ""
    device = ordered[0]
    offers = [offer for tool, offer in sorted(device.tools.items()) if tool.partition(".")[0] in subjects]
    best = max(offers, key=lambda offer: len({plain_word(word) for word in offer.title.split()}.intersection(plain)))
    tool = f"`{best.name}` of {device.name}"
    if plain[0] not in {*telling, *_LOOKS} and not any(plain[0] in offer.title.casefold() for offer in offers):
        return f"no recipe and no tool here does that; {tool} is the tool that comes nearest ({best.title})"
    return (
        f"the tool {tool} comes near ({best.title}): add a row with it in "
        f"Build. `starloom tools show {best.name}` names what it takes and gives"
    )


def _called_by_kind(words: str, devices: Sequence[DeviceSnapshot]) -> set[str]:
    """Return the names of the devices that words call by their kind: *my phone*."""
    kinds = (singular(plain_word(word)) for word in words.split())
    return {one.name for word in kinds if class_of(word) in DEVICE_CLASSES for one in of_class(word, devices)}


def _examples_in(words: str, fleet: FleetSnapshot) -> dict[str, str]:
    """Return the folder and the two files that words are about, as they were written; examples for what they lack."""
    text = " ".join(words.split())
    place, two = _FOLDER.search(text) or _FOLDER_IN.search(text), _ONLY_IN_ONE.search(text)
    is_folder = place is not None and place["folder"].casefold() not in fleet.by_name
    folder = place["folder"] if place is not None and is_folder else "Documents"
    first, second = (two["first"], two["second"]) if two is not None else ("a.txt", "b.txt")
    if (versions := _VERSIONS.search(text)) is not None:
        first = versions["first"]
    bare = folder.strip('"')  # within the quotes of a command
    return {"folder": folder, "bare": bare, "first": first, "second": second}


def _way(way: _Way, ordered: Sequence[DeviceSnapshot], examples: dict[str, str]) -> str:
    """Return a request with the first devices that may do what it needs; empty where there are too few."""
    able = [device for device in ordered if device.may(way.needs)]
    others = [device for device in ordered if device not in able[:1] and device.may(way.other_needs)]
    if len(able) < (2 if "{two}" in way.words else 1) or ("{other}" in way.words and not others):
        return ""
    two = " and ".join(device.name for device in able[:2])
    other = others[0].name if others else ""
    return way.words.format(one=able[0].name, other=other, two=two, **examples)


def _place(device: DeviceSnapshot, request: str) -> int:
    """Return where words name a device, so that what they name first stays first; behind them all if they do not."""
    name_match = device.name_pattern.search(request)
    return name_match.start() if name_match is not None else len(request)
