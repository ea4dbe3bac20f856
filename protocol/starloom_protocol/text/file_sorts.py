"""Sorts of files as people call them: *pictures*, *PDFs*, *wav files*, *invoices*.

Owns the endings of each sort and the words for it, so that a request is sure of just those words that a device finds
files by. Pure; it must not read a file or look at a folder.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache
from pathlib import PurePath
from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


KINDS: Final[dict[str, frozenset[str]]] = {
    "image": _set("png jpg jpeg gif webp bmp tif tiff heic heif avif svg raw dng cr2 nef arw"),
    "video": _set("mp4 mov mkv avi webm m4v mpg mpeg 3gp"),
    "audio": _set("mp3 flac ogg opus wav m4a aac wma"),
    "document": _set("pdf doc docx odt rtf txt md tex xls xlsx ods csv ppt pptx odp epub html"),
    "archive": _set("zip tar gz tgz bz2 xz zst 7z rar"),
    "code": _set("py js ts c h cpp hpp rs go java kt rb sh sql json yaml yml toml css"),
}
_ENDINGS: Final = _set(
    "aif aiff apk bak blend conf czi db dcm deb dmg dwg dxf eml exe gpx ics ini iso jar kml lif log mid midi mscz nd2"
    " nii psd sqlite stl torrent vcf"
).union(*KINDS.values())
"""Endings that people name: *all czi files*, *all wavs*."""
_WORDS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("picture", "photo", "photograph", "image", "pic"), KINDS["image"]),
    **dict.fromkeys(("video", "film", "movie", "clip"), KINDS["video"]),
    **dict.fromkeys(("audio", "song", "music", "sound", "recording"), KINDS["audio"]),
    **dict.fromkeys(("document", "doc", "paper"), KINDS["document"]),
    "raw": _set("raw dng cr2 nef arw"),
    "spreadsheet": _set("xls xlsx ods csv"),
    **dict.fromkeys(("presentation", "slide"), _set("ppt pptx odp")),
    "ebook": _set("epub mobi azw3"),
    "archive": KINDS["archive"],
    **dict.fromkeys(("code", "source", "script"), KINDS["code"]),
}
_ALIKE: Final = tuple(map(_set, ("jpg jpeg", "tif tiff", "mpg mpeg", "yml yaml")))
"""Endings of one format: *JPEGs* are `.jpg` as well."""
_OR: Final = re.compile(r",|\b(?:and|or)\b")
_CAMEL: Final = re.compile(r"(?<=[^\W\d_A-ZÄÖÜ])(?=[A-ZÄÖÜ])|(?<=[A-Z])(?=[A-Z][a-z])")
_PROGRAMMED: Final = _set("archive code source script")
DOCUMENTS: Final = _set(
    "agenda agreement album application archive bill brochure budget calendar catalogue certificate contract cv diploma"
    " document draft essay estimate handbook invoice letter licence license logo manual memo minutes note offer payslip"
    " permit plan playlist policy presentation profile proposal quote receipt recipe record report resume roster scan"
    " schedule script sketch spreadsheet statement summary syllabus tax taxes template text thesis timetable transcript"
    " worksheet lease return deed"
)
"""Words that documents are called by; *all invoices* are the files that have the word in their name."""
GERMAN_DOCUMENTS: Final = {
    "angebote": "angebot",
    "belege": "beleg",
    "berichte": "bericht",
    "briefe": "brief",
    "listen": "liste",
    "notizen": "notiz",
    "protokolle": "protokoll",
    "quittungen": "quittung",
    "rechnungen": "rechnung",
    "rezepte": "rezept",
    "verträge": "vertrag",
    "zeugnisse": "zeugnis",
}
"""German words for several of them, each with that for one: a file has the German word in its name."""
_NAMES: Final = DOCUMENTS | frozenset(GERMAN_DOCUMENTS.values()) | _set("screenshot drawing backup")
_FILLER: Final = _set("all every any my the our files file of sort everything")


def extension(name: str) -> str:
    """Return the last part of a name after its dot, lower case; empty where there is none."""
    return PurePath(name).suffix[1:].lower()


def kind_of(name: str) -> str:
    """Return the kind of file that a name speaks of: a key of `KINDS`, or `other`."""
    ending = extension(name)
    return next((kind for kind, extensions in KINDS.items() if ending in extensions), "other")


def is_sort(word: str) -> bool:
    """Tell whether a word in lower case, one or many of it, is a known sort: *videos*, *mp3s*; *invoices* are none."""
    return not {word, _one(word)}.isdisjoint(_WORDS.keys() | _ENDINGS | (_NAMES - DOCUMENTS))


def is_media(word: str) -> bool:
    """Tell whether a word in lower case is for files that people keep: *videos*, *music*, *screenshots*."""
    one = _one(word)
    return one in ("screenshot", "drawing") or not {word, one}.isdisjoint(_WORDS.keys() - _PROGRAMMED)


def sort_fits(what: str, name: str) -> bool:
    """Return whether a file's name is of a sort as people call it: `PDFs`, `my pictures`, `*.csv`, `all files`.

    Any one of several words does (`PDFs and pictures`), unless endings stand before a sort that has them (`raw
    photos`). A word that is no known sort is an extension; one for documents may be a word of the name, too.
    """
    parts = [[word for word in part.split() if word not in _FILLER] for part in _OR.split(what.casefold())]
    return not any(parts) or any(_part_fits(words, name) for words in parts)


def _part_fits(words: list[str], name: str) -> bool:
    endings = [_endings_of(word) for word in words]
    if len(words) > 1 and all(endings) and all(one < endings[-1] for one in endings[:-1]):
        return any(extension(name) in one for one in endings[:-1])
    return any(_word_fits(word, name) for word in words)


def _endings_of(word: str) -> frozenset[str]:
    """Return the endings of a sort, empty for a word that is none."""
    bare = word.removeprefix(".")
    single = _one(bare)
    alike = next((same for same in _ALIKE if not same.isdisjoint({bare, single})), frozenset({bare, single}) & _ENDINGS)
    return _WORDS.get(bare) or _WORDS.get(single) or alike


def _word_fits(word: str, name: str) -> bool:
    if any(mark in word for mark in "*?["):
        return fnmatch.fnmatch(name.casefold(), word)
    bare = word.removeprefix(".")
    single = _one(bare)
    of_names = single in _NAMES and not _WORDS.get(bare) and not _WORDS.get(single)
    if of_names and _as_word(single).search(_CAMEL.sub(" ", PurePath(name).stem).casefold()):
        return True
    return extension(name) in (_endings_of(word) or {bare, single})


@lru_cache(maxsize=256)
def _as_word(one: str) -> re.Pattern[str]:
    """Return the pattern of a word for documents in a name: a whole word, one or many; a German noun ends one, as
    *Vertrag* does *Mietvertrag*. *Release* is no lease.
    """
    german = "|".join(many for many, single in GERMAN_DOCUMENTS.items() if single == one)
    return re.compile(rf"(?:{one}|{german})(?![^\W\d_])" if german else rf"(?<![^\W\d_]){one}s?(?![^\W\d_])")


def _one(word: str) -> str:
    if word in GERMAN_DOCUMENTS:
        return GERMAN_DOCUMENTS[word]
    if word.removesuffix("es") in DOCUMENTS:
        return word.removesuffix("es")  # *taxes*
    return word[:-1] if len(word) > 2 and word.endswith("s") else word
