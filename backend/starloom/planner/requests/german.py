"""German words of requests in English, so that a person who writes German is shown the nearest sentences.

Nothing runs by them: words without a model are English, and a word-by-word translation is no request.
"""

from __future__ import annotations

import re
from typing import Final

from starloom.planner.requests.clauses import plain_letters, spelled_out

_WORD: Final = re.compile(r"\w+")
_TABLE: Final = """
alle: all
anlegen: make
auf: on
aufräumen: duplicates trash
backup: back up
belegt: disk fills
bild bilder bildern foto fotos photos: pictures
datei dateien: files
daten: files
die der das den dem des: the
doppelt doppelte doppelten doppeltes duplikate: duplicates
durchsuche durchsuchen: search files for
fehler fehlermeldungen: errors
auslastung beschäftigt: busiest
beide beiden: both
hat haben: has
meiste meisten: most
wenigste wenigsten: least
zehn: ten
finde finden suche suchen such: find
freier freien freie frei: space free
gerät geräte geräten rechner rechnern computer: machines
gestern: since yesterday
gleich gleiche gleichen: duplicates
groß große größte größten groesste groessten gross: largest
handy handys telefon smartphone: phone
heute: today
in im: in
kleiner verkleinere verkleinern: smaller
komprimiere packe packen zippe: zip
kopiere kopieren kopier: copy
kontaktabzug: contact sheet
liste zeige zeig: list
löschen lösche loesche: duplicates trash
läuft laufen: how are
mache mach erstelle: make
mein meine meinem meinen meiner: my
mit: with
nach auf: to
nachricht: message send
neu starten neustarten starte: restart
ordner ordners verzeichnis: folder
papierkorb: trash
platte festplatte platten festplatten: disk
platz speicherplatz: space disk fills
schicke schick sende: send
seit: since
sichere sichern sicherung sichere speichere: back up
steht geht: how are
test tests: tests
textdatei textdateien: text files
und: and
vergleiche vergleich: compare
voll: fills disk
von vom aus: of
was: what
welche welcher welches: which
wie: how
wo: where
wort: word
"""
_IN_ENGLISH: Final = {
    form: english.strip()
    for line in _TABLE.strip().splitlines()
    for words, _, english in [line.partition(":")]
    for word in words.split()
    for form in (plain_letters(word), spelled_out(word))
}
"""By words without umlauts, and with two letters for each."""
_GERMAN_ONLY: Final = frozenset(_IN_ENGLISH) - {"backup", "computer", "die", "in", "test", "tests", "fotos", "photos"}
"""Those words of the table that no English request has."""
_ENOUGH: Final = 2


def in_english(words: str) -> str:
    """Return German words in English, word by word, as far as the table goes; empty for words that are not German."""
    said = _WORD.findall(plain_letters(words))
    if sum(word in _GERMAN_ONLY for word in said) < min(_ENOUGH, len(said)):
        return ""
    return " ".join(_IN_ENGLISH.get(word, word) for word in said)


_DAYS: Final = {"tag": "day", "abend": "evening", "morgen": "morning", "nacht": "night", "mittag": "noon"} | {
    "nachmittag": "afternoon",
    "woche": "week",
    "monat": "month",
    "stunde": "hour",
    "minute": "minute",
    "werktag": "weekday",
    "arbeitstag": "working day",
    "schultag": "school day",
    "wochenende": "weekend",
    "montag": "Monday",
    "dienstag": "Tuesday",
    "mittwoch": "Wednesday",
    "donnerstag": "Thursday",
    "freitag": "Friday",
    "samstag": "Saturday",
    "sonntag": "Sunday",
}
_NTH: Final = {"ersten": "first", "zweiten": "second", "dritten": "third", "vierten": "fourth", "letzten": "last"}
_COUNTED: Final = {"zwei": "two", "drei": "three", "vier": "four", "fünf": "five", "sechs": "six", "zehn": "ten"}
_UNITS: Final = {"minuten": "minutes", "stunden": "hours", "tage": "days", "wochen": "weeks", "monate": "months"}
_DAY: Final = "|".join(_DAYS)
_CLOCK: Final = re.compile(
    r"\b(?:am ende (?:jedes|des) monats|zum monatsende|am monatsende"
    r"|(?:jeden|am) (?P<date>ersten|letzten|\d{1,2}\.)(?: tag)? (?:(?:im|des|jedes|jeden) monats?)"
    rf"|jede[nrsm]? (?:(?P<nth>{'|'.join(_NTH)}) )?(?P<day>{_DAY})(?P<month> (?:im|des|jedes) monats?)?"
    rf"|alle (?P<count>\d{{1,2}}|{'|'.join(_COUNTED)}) (?P<unit>{'|'.join(_UNITS)})"
    rf"|an (?P<some>{_DAY})en|(?P<often>montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|werktag)s"
    r"|täglich|stündlich|wöchentlich|monatlich)\b",
    re.IGNORECASE,
)
_AT: Final = re.compile(
    r"\bum (\d{1,2}(?:[:.]\d\d)?)(?: uhr\b)?(?! uhr)(?: (morgens|nachmittags|abends|nachts)\b)?", re.IGNORECASE
)
_PARTS: Final = {"morgens": "in the morning", "nachmittags": "in the afternoon", "abends": "in the evening"} | {
    "nachts": "at night",
}
_ADVERBS: Final = {"täglich": "day", "stündlich": "hour", "wöchentlich": "week", "monatlich": "month"}


def clock_in_english(words: str) -> str:
    """Return words with a rhythm in German said in English, and all other words as they are."""
    if _CLOCK.search(words) is None:
        return words
    return _AT.sub(_time, _CLOCK.sub(_rhythm, words))


def _time(found: re.Match[str]) -> str:
    part = _PARTS.get((found[2] or "").casefold())
    return f"at {found[1]} {part}" if part else f"at {found[1]}"


def _rhythm(found: re.Match[str]) -> str:
    said = {name: text.casefold() for name, text in found.groupdict().items() if text}
    if date := said.get("date"):
        return f"every {_NTH.get(date) or date.replace('.', 'th')} of the month"
    if "day" in said:
        nth = f"{_NTH[said['nth']]} " if "nth" in said else ""
        return f"every {nth}{_DAYS[said['day']]}{' of the month' if 'month' in said else ''}"
    if "unit" in said:
        return f"every {_COUNTED.get(said['count'], said['count'])} {_UNITS[said['unit']]}"
    if some := said.get("some") or said.get("often"):
        return f"on {_DAYS[some]}s"
    adverb = _ADVERBS.get(found[0].casefold())
    return f"every {adverb}" if adverb else "at the end of each month"
