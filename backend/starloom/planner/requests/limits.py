"""Limits in words: the parts that take something out of a request or bound it, such as *except the videos*.

Owns the search for them, as a person typed them, for a condition or a wish to be asked behind a request, and for the
devices that a request leaves out. Quoted text and the names of devices are no limits. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starloom.planner.requests.clauses import is_negation, plain_word, word_set
from starloom.planner.requests.phrases import Phrase, Word, typed, words_of

_WORDS_MOST: Final = 12
_HELPING: Final = word_set("do does did should must shall will would can could may")
_BOUNDS: Final = word_set("maximum minimum max min")
_AMOUNTS: Final = word_set("over under above below beyond within")
_NUMBERS: Final = word_set("one two three four five six seven eight nine ten eleven twelve twenty fifty hundred a an")
_JOINS: Final = word_set("and then or")
_ENDS: Final = frozenset(",;.:!?")
_ORDERS: Final = word_set("do don't dont not never no stop cancel undo cannot")
"""Words with which a request begins that asks for nothing to be done."""


@dataclass(frozen=True)
class Limit:
    """A limit as typed. `head` is the word that makes it one, and `first` the place of its first word."""

    text: str
    head: str
    first: int
    last: int

    @property
    def forbids(self) -> bool:
        """Whether the whole request is one: *do not back up Documents*."""
        return self.first == 0 and plain_word(self.text.split()[0]) in _ORDERS

    @property
    def excludes(self) -> bool:
        """Whether it takes out what it names: *not the one of nas*; *only nas* takes out all else."""
        words = {plain_word(word) for word in self.text.split()}
        return self.head not in _KEEPS and _KEEPS.isdisjoint(words) and (self.head == "but" or is_negation(self.head))


@dataclass(frozen=True)
class Exclusion:
    """A request without a part that leaves devices out or forbids an act, that part as typed, and these devices.

    `request` is empty where none is left.
    """

    request: str
    text: str
    devices: tuple[str, ...] = ()


_KEEPS: Final = word_set("only just unless")
"""Heads and words of limits that say which things are meant, and leave none of these out."""
_LEAVES_OUT: Final = re.compile(
    r"[\s,;]*(?:\b(?:and|but)\s+)*\b(?:"
    r"(?:(?:do|does|should|must|shall|will|may) not|(?:do|does|should|must)n['\u2019]?t"
    r"|never|not|nor|neither|no|without|except(?:ing)?|excluding|besides|apart|other than|instead of|rather than"
    r"|leave out|leaving out|skip|skipping|ignore|ignoring)"
    r"(?:[\s,]+(?:the|my|our|one|ones|of|on|in|at|from|for|to|with|by|any|anything|it|that|those|this|device|machine"
    r"|computer|data|files|look|include|including|count|counting|use|touch|check|ask|run|search|work|start))*"
    r"|but(?: the| my)?)\s+$",
    re.IGNORECASE,
)
_AND_ANOTHER: Final = re.compile(
    r"\s*(?:,\s*(?:and|or|nor)?|\b(?:and|or|nor))\s+(?:the |my |not |on |of )*$", re.IGNORECASE
)
_FORBIDS_FIRST: Final = re.compile(
    r"(?P<order>[^,;:\"`]*\b(?:nothing|not|never|no|don['\u2019]?t)\b[^,;:\"`]*)[,;]\s*(?:(?:just|but|only|and|then)\s+)*(?P<rest>.+)",
    re.IGNORECASE,
)
_INSTEAD: Final = re.compile(r"but (?:only )?(?=\w)", re.IGNORECASE)
_THING: Final = r"(?:\"[^\"]+\"|[^\s,;:\"`]+(?: (?!(?:from|of|on|in|to|at|onto|into|but|and)\b)[^\s,;:\"`]+){0,3})"
_BETWEEN: Final = re.compile(
    r"(?!.*\b(?:all|every|everything)\b)(?P<before>[^`\"]*?[^\s,`\"])[\s,]+"
    r"(?P<text>(?:(?:and|but) )?(?<!do )(?<!does )(?<!did )(?<!should )"
    r"(?:not|never|except(?: for)?|without|excluding|other than|apart from) (?!from |of |on |in |to |at )"
    rf"(?:all |any )?(?:the |my )?{_THING})"
    r"(?:,? but(?: only)?|,|(?= (?:from|of|on|in|to|at|onto|into)\b)) (?P<after>[^`\"]+)",
    re.IGNORECASE,
)
"""A negated thing in the middle of a request: *copy Documents, but not the videos, from laptop to nas*.

Of *all pictures except the big ones* it is what makes the sort, so that no request is left without it.
"""
_CONDITION: Final = re.compile(
    r"(?:\s*[,;]|\s)\s*(?:(?:and|but|then) )*(?P<tail>(?:(?:only|just|please) )*"
    r"(?:(?:ask|check with|confirm with) (?:me|us)|if|when|whenever|once|as soon as|unless|until|while|before"
    r"|after(?! the other))\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_ACT_BEHIND: Final = re.compile(
    r"(?:\s*,)?\s+(?:and|then)(?: then)? (?P<tail>\w+ (?:up |away |out )?(?:them|it|these|those)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
"""Another act on the results of a request: *find duplicates on nas and zip them*."""
_TRASHES: Final = re.compile(r"(?:delete|remove|erase|trash|bin|clean up|throw away)\b", re.IGNORECASE)
_CONDITIONS_MOST: Final = 4
_ALWAYS_SO: Final = (
    (
        re.compile(r"\b(?:ask|check with|confirm with) (?:me|us)\b", re.IGNORECASE),
        "a request in words that changes something shows its preview and waits for your yes anyway",
    ),
    (
        re.compile(r"\b(?:room|space|free|full|[kmgt]i?b)\b", re.IGNORECASE),
        "a device without room for a file refuses it and says so; nothing is started by how much room there is",
    ),
    (
        re.compile(
            r"\b(?:is|are|comes|goes|has come|gets)\b.*\b(?:on|online|back|awake|there|up|connected|reachable|here)$",
            re.IGNORECASE,
        ),
        "a task for a device that is away waits anyway until it is connected",
    ),
)
"""The conditions that hold in any case, the first that fits."""


def conditions_behind(words: str) -> Iterator[tuple[str, str]]:
    """Yield each request that stands before a condition, a wish to be asked or another act on its results, with that:
    *..., ask me first*, *... and zip them*.
    """
    for pattern in (_CONDITION, _ACT_BEHIND):
        at = 0
        for _ in range(_CONDITIONS_MOST):
            condition = pattern.search(words, at)
            if condition is None:
                break
            at = condition.start("tail")
            before = words[: condition.start()]
            if pattern is _ACT_BEHIND and limits_in(words_of(condition["tail"])):
                continue  # *and replace it, at most 10*: the limit is the part without a place
            if before.strip() and before.count('"') % 2 == 0 and before.count("`") % 2 == 0:
                yield before.strip(), condition["tail"].strip(" .!?,")


def exclusion_in(words: str, devices: Mapping[str, re.Pattern[str]]) -> Exclusion | None:
    """Return a request without the devices that a negation takes out, or without an order before it that forbids.

    `devices` are the patterns of their names in lower case: *how are my machines, not the one of nas*.
    """
    lowered = words.casefold()
    if len(lowered) == len(words):
        spans = sorted(
            (span.start(), span.end(), name) for name, of in devices.items() for span in of.finditer(lowered)
        )
        for at, (start, end, name) in enumerate(spans):
            head = _LEAVES_OUT.search(words[:start])
            if head is None:
                continue
            names = [name]
            for following, until, other in spans[at + 1 :]:
                if following >= end and _AND_ANOTHER.fullmatch(words[end:following]):
                    names.append(other)
                    end = until
            before, after = words[: head.start()].strip(" ,;."), words[end:].strip(" ,;.!?")
            # *Copy Documents not from nas to laptop* says more behind it, so that no request is left without it;
            # *not from nas but from vps* says the other one.
            instead = _INSTEAD.match(after)
            after = after[instead.end() :] if instead is not None else after
            apart = not before or not after or instead is not None or words[end:].lstrip()[0] in _ENDS
            text = words[head.start() : end].strip(" ,;")
            return Exclusion(f"{before} {after}".strip() if apart else "", text, tuple(names))
    forbidden = _FORBIDS_FIRST.fullmatch(words)
    if forbidden is not None:
        return Exclusion(forbidden["rest"], forbidden["order"].strip())
    between = _BETWEEN.fullmatch(words)
    return Exclusion(f"{between['before']} {between['after']}", between["text"]) if between is not None else None


def trash_of_results(request: str, act: str) -> str:
    """Return a request that puts extra files into the trash, where an act behind it deletes its results; else empty."""
    return f"{request} and put the extra ones into the trash" if _TRASHES.match(act) else ""


def always_so(condition: str) -> str:
    """Return the sentence about a condition that holds in any case; empty for all others."""
    return next((sentence for pattern, sentence in _ALWAYS_SO if pattern.search(condition)), "")


def limits_in(words: Sequence[Word], names: Container[str] = ()) -> tuple[Limit, ...]:
    """Return the limits in words, in order; `names` are those of devices, in lower case."""
    plain = ["" if hidden else plain_word(words[at].text) for at, hidden in enumerate(_hidden(words))]
    if not any(word in _LIKELY or is_negation(word) for word in plain):
        return ()
    limits: list[Limit] = []
    for at in range(len(plain)):
        first = _first(plain, at)
        if first is None or plain[at] in names or (limits and first <= limits[-1].last):
            continue
        last = _last(words, plain, at)
        limits.append(Limit(typed(words[first : last + 1]), plain[at], first, last))
    return tuple(limits)


def _hidden(words: Sequence[Word]) -> Iterator[bool]:
    """Yield for each word whether quotes hold it."""
    within = False
    for word in words:
        opens = word.text[0] in "'‘" and len(word.text) > 1
        within = within or opens
        yield within or word.quoted
        if within and word.text[-1] in "'’":
            within = False


_LIKELY: Final = _BOUNDS | _AMOUNTS | word_set("but if just most least than up")


def _first(plain: Sequence[str], at: int) -> int | None:
    """Return the place of the first word of the limit that the word at `at` makes; None if it makes none."""
    word, before = plain[at], plain[at - 1] if at else ""
    after = plain[at + 1] if at + 1 < len(plain) else ""
    counted = after in _NUMBERS or after[:1].isdigit()
    if word in ("most", "least"):
        return at - 1 if before == "at" else None
    if word == "than":
        return at - 1 if at else None
    if word == "up":
        return at if after == "to" and before != "back" and _is_number(plain, at + 2) else None
    if word in _AMOUNTS:
        return at if counted else None
    if word in _BOUNDS:
        return at if counted or before in ("the", "a") else None
    if word == "just":
        return at or None
    if word == "not" and before in _HELPING:
        return at - 1
    return at if word in ("but", "if") or is_negation(word) else None


def _is_number(plain: Sequence[str], at: int) -> bool:
    return at < len(plain) and (plain[at] in _NUMBERS or plain[at][:1].isdigit())


def _last(words: Sequence[Word], plain: Sequence[str], at: int) -> int:
    """Return the place of the last word of a limit: it ends with a comma, before *and* or before another limit."""
    last = at
    while last + 1 < len(words) and last - at < _WORDS_MOST:
        begins = _first(plain, last + 1)
        if _ENDS & set(words[last].tail) or (last > at and plain[last + 1] in _JOINS):
            break
        if begins is not None and begins > at + 1:
            last = begins - 1
            break
        last += 1
    return last


def in_slots(limits: Sequence[Limit], texts: Iterable[str]) -> tuple[Limit, ...]:
    """Return the limits that slots have swallowed, rather than words of the phrase: *at most {pixels} pixels*."""
    if not limits:
        return ()
    slots = [words_of(text) for text in texts]
    left = Counter(
        plain_word(word.text)
        for words in slots
        for word, hidden in zip(words, _hidden(words), strict=True)
        if not hidden
    )
    swallowed: list[Limit] = []
    for limit in reversed(limits):
        if left[limit.head] > 0:
            left[limit.head] -= 1
            swallowed.append(limit)
    return tuple(reversed(swallowed))


def not_about(limits: Sequence[Limit], phrases: Iterable[Phrase]) -> tuple[Limit, ...]:
    """Return the limits of which phrases have not the head and another telling word as well: *at most 800 pixels*."""
    if not limits:
        return ()
    literals = {form for phrase in phrases for form in phrase.literals}
    telling = {form for phrase in phrases for form in phrase.telling}

    def about(limit: Limit) -> bool:
        words = [plain_word(word) for word in limit.text.split()]
        head = words.index(limit.head) + 1
        return literals.issuperset(words[:head]) and not telling.isdisjoint(words[head:])

    return tuple(limit for limit in limits if not about(limit))


def not_in(unused: Sequence[str], limits: Sequence[Limit]) -> tuple[str, ...]:
    """Return the words that no recipe has a place for, with each limit in one piece."""
    in_limits = {word for limit in limits for word in limit.text.split()}
    return (*(word for word in unused if word not in in_limits), *(limit.text for limit in limits))
