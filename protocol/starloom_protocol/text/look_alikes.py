"""Names that mislead, and the spellings of one name: letters of other alphabets that look Latin, sentences, words that
mean several devices, names without their accents. Pure.

The letters are the single-letter look-alikes of Cyrillic and Greek in the table of Unicode Technical Standard 39, and
the commonest within Latin.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from starloom_protocol.values import name_fault

_LATIN: Final = str.maketrans(
    "\u0430\u0441\u0501\u0435\u04bb\u0456\u0458\u04cf\u043e\u0440\u051b\u0455\u0475\u051d\u0445\u0443"
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u051c\u0425\u04ae"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "acdehijlopqsvwxyABCEHIJKMOPSTWXYaopviABEZHIKMNOPTYX",
)
_ONE: Final = str.maketrans("I10\u0251\u0261\u0131\u01c0", "llOagil")
"""Signs of one alphabet that a reader takes for one another: `l`, `I` and `1`, `O` and `0`, and four Latin letters."""
_SCRIPTS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")
PERSON_CHARS_MOST: Final = 64
_OF_PERSONS: Final = "._@+-"
_WORD: Final = re.compile(r"[^\W\d_]+")


_CLAUSE: Final = re.compile(
    r"[.!?;:\u2026](?=\s|$)|[\u037e\u06d4\u061f\u0964\u3002\uff01\uff0e\uff1a\uff1b\uff1f\uff61]"
)
"""A mark that ends a clause, where it ends one: `srv.example.org` and `10:30` have none."""
_TITLE: Final = re.compile(r"(?<!\w)(?:Dipl|Dr|Ing|Mr|Mrs|Ms|No|Nr|Prof|St)\.(?= \w)")
"""Abbreviations before a name or a number, whose mark ends no clause: *Kanzlei Dr. Weiß*."""
_QUOTES: Final = frozenset('"`<>\u00ab\u00bb\u201c\u201d\u201e')
_UNSEEN: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that draw nothing, though Unicode counts them as neither spaces nor formats."""


_PARTS: Final = re.compile(r"[\s._-]+")
_BEFORE_SEVERAL: Final = frozenset(["all", "any", "both", "each", "every", "others"])
_BEHIND_SEVERAL: Final = frozenset(["all", "everything", "everywhere", "others", "remaining", "rest", "them"])
_DETERMINERS: Final = frozenset(["a", "an", "my", "our", "that", "the", "these", "this", "those"])
_NOUNS: Final = (
    "box computer desktop device host ipad laptop mac machine mobile node notebook pc phone server smartphone tablet"
    " workstation"
)
_PLURALS: Final = frozenset({f"{noun}es" if noun.endswith("x") else f"{noun}s" for noun in _NOUNS.split()})


def means_several(name: str) -> bool:
    """Tell whether words mean several devices (*all servers*, *everywhere*, *the phones*), however they are joined.

    *all-in-one* is a sort of computer.
    """
    words = [word for word in _PARTS.split(name.casefold()) if word]
    while words and words[0] in _DETERMINERS:
        del words[0]
    if not words or words[:3] == ["all", "in", "one"]:
        return False
    return words[0] in _BEFORE_SEVERAL or words[-1] in _BEHIND_SEVERAL or words[-1] in _PLURALS


def called_fault(name: str, *, most: int) -> str | None:
    """Return why no device may be called by a name, or None; labels may mean several devices, and names may not."""
    wrong = device_name_fault(name, most=most)
    if wrong is None and name.startswith("-"):
        return f"a device may not be called {name}: a command line takes a name that begins with `-` for an option"
    if wrong is None and ("/" in name or "\\" in name):
        return f"a device may not be called {name}: it would be read as a path; leave out `/` and `\\`"
    if wrong is None and means_several(name):
        return f"a device may not be called {name}: these words mean several devices"
    return wrong


def device_name_fault(name: str, *, most: int) -> str | None:
    """Return why a name is refused for a device, or None.

    Refused are those of `name_fault`, a name that a sentence around it would not end at, and a word of several
    alphabets: names stand in sentences, notifications and prompts as they are.
    """
    return name_fault(name, most=most) or _runs_on(name) or _mixed_word(name)


def person_name_fault(name: str) -> str | None:
    """Return why a name is refused for a person, program or assistant, or None.

    It has letters of any script and no space, as it stands in lists, addresses and command lines.
    """
    kinds = {unicodedata.category(char)[0] for char in name if char not in _OF_PERSONS and char not in _UNSEEN}
    seen = not any(char in _UNSEEN or "VARIATION SELECTOR" in unicodedata.name(char, "") for char in name)
    if not (name[:1].isalnum() and len(name) <= PERSON_CHARS_MOST and kinds <= {"L", "M", "N"} and seen):
        return f"a name has letters, digits and `{_OF_PERSONS}`, at most {PERSON_CHARS_MOST}, and no space"
    return _mixed_word(name)


def _mixed_word(name: str) -> str | None:
    """Return the fault of a word whose letters are of several alphabets, or None."""
    if name.isascii():
        return None
    for word in _WORD.findall(name):
        found = {script for letter in word for script in _SCRIPTS if unicodedata.name(letter, "").startswith(script)}
        if len(found) > 1:
            alphabets = " and ".join(script.capitalize() for script in _SCRIPTS if script in found)
            return f"the word {word} has {alphabets} letters, so it may look like another name"
    return None


def _runs_on(name: str) -> str | None:
    """Return why a name would not stand as one name within a sentence, or None."""
    if name != name.strip() or re.search(r"\s\s|[^\S ]", name):
        return "a name of a device has no space at its ends, none beside another, and no other kind of space"
    for char in name:
        if char in _UNSEEN or char in _QUOTES:
            return f"a name of a device may not contain U+{ord(char):04X}"
    found = _CLAUSE.search(_TITLE.sub("", name))
    if found is not None:
        return f"a name of a device may not read as a sentence: {found[0]} ends one, so leave that out"
    return None


_SPELLED_OUT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_TYPED_OTHERWISE: Final = {"ä": "(?:ä|ae?)", "ö": "(?:ö|oe?)", "ü": "(?:ü|ue?)", "ss": "(?:ss|ß)"}
_OTHERWISE: Final = re.compile("|".join(_TYPED_OTHERWISE))
_JOINTS: Final = re.compile(r"[\s._\-()'\u2019]+")
_REMARK: Final = re.compile(r"\s*\([^()]*\)$")


def plain_letters(text: str) -> str:
    """Return text in lower case without accents: `grosste` for *größte*."""
    lower = text.casefold()
    if lower.isascii():
        return lower
    apart = unicodedata.normalize("NFKD", lower)
    return "".join(sign for sign in apart if not unicodedata.combining(sign))


def spelled_out(text: str) -> str:
    """Return text in lower case with umlauts as two letters, as people type them without: `groesste` for *größte*."""
    return plain_letters(unicodedata.normalize("NFC", text.casefold()).translate(_SPELLED_OUT))


def without_remark(name: str) -> str:
    """Return a name without a remark in brackets at its end: *Büro-PC* for *Büro-PC (neu)*."""
    return _REMARK.sub("", name)


def spellings_of(name: str) -> frozenset[str]:
    """Return the spellings that people type for a name, each in lower case without what joins its words.

    Two names with a common one are said alike: *Büro-PC*, *buero pc* and *buropc*.
    """
    return frozenset(_JOINTS.sub("", letters) for letters in (plain_letters(name), spelled_out(name))) - {""}


def spelling_pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a name as whole words in lower case, however they are joined and its umlauts are typed.

    A remark in brackets may be left out, or stand without them.
    """
    whole, plain = unicodedata.normalize("NFC", name.casefold()), unicodedata.normalize("NFC", without_remark(name))
    short, remark = (plain.casefold(), whole[len(plain) :]) if plain else (whole, "")
    joined = r"[\s._-]*"
    more = rf"(?:{joined}\(?{_letters(remark.strip(' ()'))}\)?)?" if remark else ""
    return re.compile(rf"(?<![\w-]){joined.join(map(_letters, _PARTS.split(short)))}{more}(?![\w-])")


def _letters(part: str) -> str:
    """Return the pattern of a part of a name with each umlaut as it is, as one plain letter, or as two."""
    return _OTHERWISE.sub(lambda found: _TYPED_OTHERWISE[found[0]], re.escape(part))


def look_of(name: str) -> str:
    """Return what a name looks like: equal for two names that a reader cannot tell apart."""
    plain = name if name.isascii() else unicodedata.normalize("NFKC", name).translate(_LATIN)
    return plain.translate(_ONE)
