"""Words that make a request more than one command: negations, exceptions, second clauses, and words that name nothing.

Owns the lists of such words and the search for them in a piece of a request. Quoted text is a name and is never
searched. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as a text."""
    return frozenset(text.split())


ARTICLES: Final = frozenset({"a", "an", "the", "my", "our", "your", "his", "her", "their", "its", "me"})
GERMAN_ARTICLES: Final = word_set(
    "der die das den dem des ein eine einen einem einer mein meine meinen meinem meiner unser unsere unseren unserem"
)
MONTHS: Final = word_set("january february march april may june july august september october november december")
COURTESIES: Final = word_set("please hey starloom now kindly")
NEGATIONS: Final = word_set(
    "no not never nor neither none cannot without except excepting excluding excludes unless instead but besides apart"
    " rather only stop undo cancel"
)
_CLAUSES: Final = word_set(
    "and & + or then afterwards afterward after before if when whenever while until till because since so that which"
    " who whom whose why how whether where what also plus once"
)
_PRONOUNS: Final = word_set(
    "i we you he she it they them him us this these those someone somebody anyone anybody everyone everybody something"
    " anything nothing everything everywhere here there all any each both some stuff things thing"
)
_NO_FILES: Final = word_set("clipboard")
"""Things of a device that are no file and no folder: *copy the clipboard from laptop to phone*."""
_STAND_INS: Final = word_set("one ones other others same latter former rest remainder remaining")
"""Words that alone stand for a thing said before: *the one on nas*, *the same on nas*."""
MANNERS: Final = word_set(
    "advance background black bulk case color colour detail details full general grayscale greyscale parallel private"
    " public secret sequence short time total turn"
)
"""Words that with *in* before them say how: *in colour*, *in full*."""
_MANNER_WORDS: Final = word_set(
    "tomorrow tonight today again twice thrice slowly quickly fast soon later immediately recursively including include"
    " as via"
)
_DAYS: Final = word_set("yesterday today tonight tomorrow")
"""Also as *yesterday's*: a folder of that day is no name of one."""
_RELATIVE: Final = word_set(
    "next last this a an one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty"
)
_TIMES: Final = word_set(
    "second seconds minute minutes hour hours day days night week weeks weekend month months year years"
)
_NO_THINGS: Final = word_set("time seen heard online used")
"""Words behind *first* and *last* that belong to a time."""
PERSONS: Final = word_set("i we you he she they me us him her them your their")
"""Words that a sentence has and no command."""
_VERBS: Final = word_set(
    "is are was were be been being am has have had do does did can could will would shall should must may might goes"
    " going go get gets make makes made let tell fix delete remove print mail send"
)
PURPOSES: Final = word_set(
    "archive avoid back be check clean clear compare edit fix free get give have help keep let listen look make match"
    " mirror play prevent print protect prove read recover release replace overwrite restore save secure see share show"
    " sort store sync test tidy try update use verify view watch work"
)
"""Verbs behind *to* that begin what a request is for: *to save space*."""
_RANKS: Final = word_set(
    "best worst most least biggest largest smallest newest oldest latest fastest slowest longest shortest highest"
    " lowest bigger larger smaller newer older faster slower duplicate duplicated duplicates"
)
SELECTING: Final = word_set(
    "new old recent current changed modified missing last next previous unread big small large empty"
)
"""Words in lower case before a name that may choose among what is in it: *copy new Documents*."""
_COUNTED: Final = word_set("file files folder folders directory directories document documents thing things")
_NEGATED_WORDS: Final = word_set(
    "don't dont doesn't doesnt didn't didnt won't wont isn't isnt aren't arent can't cant couldn't shouldn't wouldn't"
    " mustn't hasn't haven't wasn't weren't"
)


def plain_word(token: str) -> str:
    """Return a token in lower case without punctuation around it."""
    return token.casefold().replace("\u2019", "'").strip('.,;:!?()"')


def is_negation(word: str) -> bool:
    """Return whether a plain word turns a request round or takes something out of it."""
    return word in NEGATIONS or word in _NEGATED_WORDS


def second_thought(tokens: list[str]) -> str:
    """Return the first token that negates, excepts or begins another clause; empty where there is none."""
    return next((token for token in tokens if is_negation(word := plain_word(token)) or word in _CLAUSES), "")


def manner_in(tokens: list[str]) -> str:
    """Return the first token among several that says when, how often or how rather than what; empty if none does.

    *Notes.txt tomorrow* and *./Papers for 3 hours* are no names; one word alone may be one.
    """
    plain = [plain_word(token) for token in tokens] if len(tokens) > 1 else []
    for at, word in enumerate(plain):
        after = plain[at + 1] if at + 1 < len(plain) else ""
        counted = word.isdigit() or word in _RELATIVE
        of_a_day = word.removesuffix("s").removesuffix("'") in _DAYS
        if word in _MANNER_WORDS or of_a_day or (counted and after in _TIMES):
            return tokens[at]
    return ""


def names_nothing(tokens: list[str]) -> str:
    """Return the first token that no name of a file has unquoted: a pronoun, a verb, a rank; empty if none.

    *First three pictures* is a choice among pictures, while *First pictures* may be a folder. *2 folders* are any two.
    """
    if counts_things(tokens):
        return tokens[-1]
    unfit = _PRONOUNS | _VERBS | _RANKS | _NO_FILES
    plain = ["", *map(plain_word, tokens), ""]
    choices = {at for at in choices_in(plain) if _is_count(plain[at + 1])}
    return next((token for at, token in enumerate(tokens, 1) if plain[at] in unfit or at in choices), "")


def counts_things(tokens: list[str]) -> bool:
    """Return whether tokens are a number or a choice of things and no name: *2 folders*, *the last file*."""
    words = [token for token in tokens if token not in ARTICLES]
    counts = [_is_count(word) or word in SELECTING | _RANKS for word in words[:-1]]
    return bool(counts) and all(counts) and words[-1] in _COUNTED


def stands_for_another(tokens: list[str]) -> bool:
    """Return whether unquoted tokens stand for a thing said before: *one* in *compare Docs on a with the one on b*."""
    return bool(tokens) and _STAND_INS.issuperset(map(plain_word, tokens))


def choices_in(plain: Sequence[str]) -> Iterator[int]:
    """Yield the places of the words that choose among things: *newest*, and *first* and *last* beside no time."""
    for at, word in enumerate(plain):
        after = [one for one in plain[at + 1 : at + 3] if not _is_count(one)]
        of_time = bool(after) and after[0] in _TIMES | _NO_THINGS
        if word == "newest" or (word in ("first", "last") and at and plain[at - 1] != "at" and not of_time):
            yield at


def _is_count(word: str) -> bool:
    return word.isdigit() or word in _RELATIVE - {"next", "last", "this", "a", "an"}
