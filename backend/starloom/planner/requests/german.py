"""German words of requests in English: a whole request, so that it may run, or some words, for the nearest sentences.

A request runs only where the table has every word of it that is no name; anything else is shown to a person.
Pure. It knows no recipe: `matching` does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from starloom.planner.requests.clauses import plain_word, word_set
from starloom_protocol.text.file_sorts import GERMAN_DOCUMENTS
from starloom_protocol.text.look_alikes import plain_letters, spelled_out

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


def _words_of(table: str) -> dict[str, str]:
    """Return the English of each word of a table, by the word without umlauts and with two letters for each."""
    return {
        form: english.strip()
        for line in table.strip().splitlines()
        for words, _, english in [line.partition(":")]
        for word in words.split()
        for form in (plain_letters(word), spelled_out(word))
    }


_IN_ENGLISH: Final = _words_of(_TABLE)
_GERMAN_ONLY: Final = frozenset(_IN_ENGLISH) - {"backup", "computer", "die", "in", "test", "tests", "fotos", "photos"}
"""Those words of the table that no English request has."""
_ENOUGH: Final = 2


def in_english(words: str) -> str:
    """Return German words in English, word by word, as far as the table goes; empty for words that are not German."""
    words_said = _WORD.findall(plain_letters(words))
    if sum(word in _GERMAN_ONLY for word in words_said) < min(_ENOUGH, len(words_said)):
        return ""
    return " ".join(_IN_ENGLISH.get(word, word) for word in words_said)


@dataclass(frozen=True)
class Translated:
    """A German request in English. `whole`: the table has every word that is no name."""

    english: str
    whole: bool


_REQUEST_TABLE: Final = """
alle allen aller alles jede jeden jeder jedes: all
beide beiden: both
alten alte altes: old
archiv archive: archives
aber: but
als: than
aufnahmen aufnahme: recordings
außer ausser ausgenommen: except
bilder bildern foto fotos: pictures
bild: picture
bis: until
bring bringe: bring
datei: file
dateien: files
der die das den dem des: the
dann danach anschließend: then
desktop: desktop
dokumente dokumenten: documents
duplikate duplikaten: duplicates
bildschirm bildschirms: screen
drucke druck drucken ausdrucken: print
ein eine einen einem einer: a
entpacke entpacken: unpack
erstelle erstellen mache mach machen: make
dezember: december
es: it
februar: february
januar: january
juli: july
juni: june
mai: may
märz: march
oktober: october
erste ersten: first
fehler fehlern: errors
festplatte platte: disk
filme filmen: films
finde find finden suche such suchen: find
gerät: machine
gestern: yesterday
größte größten groesste: largest
größer: larger
handy telefon smartphone: phone
handys: phones
heute: today
hole hol holen: bring
ich: i
kein keine keinen keiner: no
kleinste kleinsten: smallest
kontaktabzug: contact sheet
kopiere kopier kopieren: copy
laptop notebook: laptop
laptops notebooks: laptops
lautstärke: volume
leere leeren: empty
liste auflisten: list
lösche lösch löschen: delete
maile mailen: mail
mein meine meinem meinen meiner unser unsere unserem unseren unserer: my
mir uns: me
mit: with
morgen: tomorrow
musik: music
nach: to
neueste neuesten neuste neusten: newest
nicht: not
nichts: nothing
niemals nie: never
noch: also
nur bloß: only
ob: whether
oder: or
ohne: without
ordner verzeichnis: folder
packe packen zippe zip zippen: zip
papierkorb: trash
präsentationen: presentations
rechner rechnern computer computern geräte geräten: machines
sammle sammel sammeln: collect
schicke schick schicken sende senden: send
schreibe schreib schreiben: write
server: server
servern: servers
sichere sicher sichern: back up
seit: since
sobald: when
sperre sperr sperren: lock
entsperre entsperren: unlock
statt anstatt: instead
suchen: find
tabellen: spreadsheets
tablet: tablet
überall: everywhere
und: and
vergleiche vergleich vergleichen: compare
verschiebe verschieben: move
zeige zeig zeigen: show
dienst: service
video: video
videos: videos
wenn falls: if
letzte letzten letzter letztes: last
älteste ältesten: oldest
"""
_REQUEST_WORDS: Final = _words_of(_REQUEST_TABLE)
_VERBS: Final = word_set(
    "collect compare copy delete empty bring find list lock mail make move print send show unlock unpack write zip"
) | {"back up"}
_NUMBERS: Final = {"zwei": "2", "drei": "3", "vier": "4", "fünf": "5", "sechs": "6", "sieben": "7", "acht": "8"} | {
    "neun": "9",
    "zehn": "10",
    "zwanzig": "20",
}
_COURTESY: Final = word_set("bitte mal doch danke hallo hey gerne kurz")
_SEARCHED: Final = r"search the files of \{} for the word \{}"
_RANKED: Final = (
    r"^welche[rs]? (?:rechner|computer|gerät) hat (?:den |am )?{} (?:freien )?(?:speicher)?platz(?: frei)?$"
)
_WISHES: Final = re.compile(
    r"(?:(?:kannst|könntest|koenntest|würdest|wuerdest) du|(?:können|koennen|könnten|koennten|würden|wuerden) sie"
    r"|ich (?:möchte|moechte|will|würde gerne?|wuerde gerne?))\b,?\s*",
    re.IGNORECASE,
)
_LAST: Final = (
    r"(?:das|es|dies|dasselbe|(?:das|die|den) letzten?(?: (?:sache|aktion|änderung|anfrage|auftrag|schritt|mal))?)"
)
_MORE: Final = r"(?:noch ?mal|nochmals|noch einmal)"
_SENTENCES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), english)
    for pattern, english in (
        (r"^wie geht(?: e|')?s (?=(?:meinen|den|allen|unseren|beiden)\b)", "how are "),
        (r"^wie geht(?: e|')?s ", "how is "),
        (r"^(?:wo (?:ist|sind|liegt|liegen)) ", "where is "),
        (_RANKED.format("meisten"), "which machine has the most free space"),
        (_RANKED.format("wenigsten"), "which machine has the least free space"),
        (r"^was (?:füllt|fuellt|belegt) die (?:fest)?platte (?:von|vom|auf)\b", "what fills the disk of"),
        (r"^starte? (?:den )?(?:dienst )?(.+) neu$", r"restart \1"),
        (r"^führe? (.+) aus$", r"run \1"),
        (r"^räume? (.+) nach (?:art|sorte|typ) auf$", r"tidy \1 by kind"),
        (
            rf"^(?:nimm {_LAST}(?: wieder)? zurück|(?:mache? )?(?:{_LAST} )?(?:wieder )?rückgängig(?: machen)?)$",
            "undo that",
        ),
        (r"^brich (?:alles|das) ab$", "cancel everything"),
        (
            rf"^(?:(?:mach|mache|tu|wiederhole?) )?(?:{_LAST} )?{_MORE}(?=$|,? (?:aber|auf|mit|und|für)\b)",
            "do that again",
        ),
        (rf"^wiederhole? {_LAST}$", "do that again"),
        (r"(?<=^do that again)(.*) (?:auf|mit|für) (?:de[mnr] )?anderen(?: \w+)?$", r"\1 on the other one"),
        (r"\b(?:(?:aber|und|bitte|doch) )*frage? (?:mich|uns)?(?: bitte)? ?(?:vorher|zuerst|erst)$", "ask me first"),
        (r"\b(wenn|sobald|falls) (.{1,40}) (?:an|da|online|wach|wieder da|verbunden) ist$", r"\1 \2 is on"),
        (r"^was hast du (gestern|heute) gemacht$", r"what did you do \1"),
        (r"^liste? (.+) auf$", r"list \1"),
        (r"^räume? (.+) auf$", r"tidy \1"),
        (r"\bdrucke? (?:ihn|sie|es|das|alles)(?: bitte)? aus$", "print it"),
        (r"^drucke? (.+) aus$", r"print \1"),
        (r"^rufe? (.+) an$", r"call \1"),
        (
            r"^wer hat (?:noch )?(?:alte|ältere) (?:versionen|fassungen|kopien) (?:von|der|des) (?=\S+\.\w+$)",
            "who has old versions of ",
        ),
        (r"^wecke? (.+?)(?: auf)?$", r"wake up \1"),
        (r"^fahre? (.+) (?:herunter|runter)$", r"shut down \1"),
        (r"^schalte? (.+) (?:ein|an)$", r"turn on \1"),
        (r"^schalte? (.+) (?:aus|ab)$", r"turn off \1"),
        (r"^mache? (.+) kleiner$", r"make \1 smaller"),
        (r"^mache? ein(?:e)? (?:foto|bild|aufnahme) mit ", "take a picture with "),
        (r"\b(?:leg|lege|stell|stelle|speicher|speichere) es\b", "put it"),
        (r"^welche dateien habe ich doppelt", "which files do i have twice"),
        (r"^wie voll (?:ist|sind) (?:die (?:fest)?platten? (?:von|vom) )?", "what fills the disk of "),
        (r"^ist (\S+\.\S+) erreichbar$", r"is \1 up"),
        (r"^(?:durchsuche|durchsuch) die dateien (?:von|auf) (.+) nach (?:dem wort )?(.+)$", _SEARCHED.format(1, 2)),
        (r"^(?:finde|such|suche) das wort (.+) in (?:den )?(?:text)?dateien (?:von|auf) (.+)$", _SEARCHED.format(2, 1)),
        (
            r"^(?:hole?|bringe?) (?:die datei )?(.+) aus dem papierkorb (?:von|vom) (.+) zurück$",
            r"get \1 back from the trash of \2",
        ),
        (r"^was ist im papierkorb (?:von|vom)\b", "what is in the trash of"),
        (r"\bdoppelten? dateien\b", "duplicates"),
        (r"\beine sicherung (?:von|vom)\b", "back up"),
        (r"\bins?(?: den| das)? ordner\b", "into the folder"),
        (r"\bim ordner\b", "in the folder"),
    )
)
_ARTICLES_OF: Final = {"vom": "{of} the", "im": "in the", "am": "on the", "zum": "to the", "zur": "to the"} | {
    "beim": "of the",
    "ins": "into the",
    "aufs": "to the",
}
_TO_ARTICLES: Final = word_set("den die das meinen meine mein unseren unsere unser beide alle einen eine ein")
_ON_ARTICLES: Final = word_set("dem der meinem meiner unserem unserer einem einer beiden allen")
_NAMES_A_THING: Final = word_set("ordner verzeichnis datei dienst folder file service restart run")
"""Words behind which a name stands, whatever word it is."""
_PLACES: Final = word_set("von vom auf in im aus nach")
_WORDS_MOST: Final = 60
_PIECE: Final = r"\"[^\"]*\"|`[^`]*`|“[^”]*”|„[^“”]*[“”]"
_NO_WORD: Final = re.compile(r"[\d*/~\\]|\w\.\w")
_DOCUMENTS: Final = frozenset((*GERMAN_DOCUMENTS, *GERMAN_DOCUMENTS.values()))
_IN_BOTH: Final = word_set(
    "archive desktop laptop server tablet video videos zip find computer notebook laptops notebooks smartphone die"
    " bring"
)
"""Words of the table that English requests have as well."""
_NEUTRAL: Final = word_set("an in so")
_ENGLISH: Final = word_set(
    "run tidy by kind smaller take picture with put it files do i have twice up search word get trash what how is are"
    " where which machine has the most least free space fills disk of restart duplicates back into"
    " folder in my to on for from pdf pdfs csv mp3 jpg docs pc nas"
)
"""Words that stay as they are: those of `_SENTENCES`, and those that German has as well."""


def requests_in_english(words: str, names: Collection[re.Pattern[str]]) -> Iterator[Translated]:
    """Yield the readings of a German request in English; none of words that are not German.

    *Von* is *from* or *of*, and *auf* before a bare name *to* or *on*. `names` are those of devices, which stay.
    """
    typed = " ".join(words.split()).strip(" .!?")
    if typed.count(" ") >= _WORDS_MOST:
        return
    text = _WISHES.sub("", typed, count=1)
    for pattern, english in _SENTENCES:
        text = pattern.sub(english, text)
    if text == typed and not any(_is_german(plain_word(word)) for word in typed.split()):
        return
    names_pattern = "|".join(sorted((pattern.pattern for pattern in names), key=len, reverse=True))
    piece = re.compile(rf"{_PIECE}|(?<!\S)(?P<name>{names_pattern or '(?!)'})|\S+", re.IGNORECASE)
    pieces = [*piece.finditer(text)]
    names_in_text = {match[0] for match in pieces if match["name"]}
    spoken = [match[0] for match in pieces if plain_word(match[0]) not in _COURTESY]
    tokens = _verb_first(spoken)
    plain = ["" if token in names_in_text or token[0] in '"`“„' else plain_word(token) for token in tokens]
    telling = [word for word in plain if word and word not in _NEUTRAL]
    # No English request ends with a German verb, however few of its words are German: *brief.pdf drucken*.
    enough = 1 if tokens != spoken else min(_ENOUGH, len(telling) or 1)
    if text == typed and sum(map(_is_german, telling)) < enough:
        return
    yield from dict.fromkeys(_read(tokens, plain, of, to) for of in ("from", "of") for to in ("to", "on"))


def _is_german(word: str) -> bool:
    form = plain_letters(word)
    return form not in _IN_BOTH and (
        word in _DOCUMENTS or form in _REQUEST_WORDS or word in _ARTICLES_OF or word in ("von", "auf", "aus")
    )


def _verb_first(tokens: Sequence[str]) -> list[str]:
    """Return words with the verb that stands last in German before them: *die Bilder auf nas kopieren*."""
    verb = plain_letters(plain_word(tokens[-1])) if tokens else ""
    if verb.endswith("n") and _REQUEST_WORDS.get(verb) in _VERBS:
        return [tokens[-1], *tokens[:-1]]
    return list(tokens)


def _read(tokens: Sequence[str], plain: Sequence[str], of: str, to: str) -> Translated:
    """Return one reading, word by word."""
    english_words: list[str] = []
    whole = True
    for at, (token, word) in enumerate(zip(tokens, plain, strict=True)):
        before, after = plain[at - 1] if at else "", plain[at + 1] if at + 1 < len(plain) else ""
        tail = token[len(token.rstrip(",;:")) :] if word else ""
        english = _word(word, token.rstrip(",;:"), before, after, of, to) if word else token.replace("„", "“")
        if english is None:
            whole = whole and bool(
                before in _NAMES_A_THING or before == "in" or _NO_WORD.search(token) or word in _ENGLISH
            )
            english = token
            tail = ""
        english_words.append(english + tail)
    return Translated(" ".join(english_words), whole)


def _word(word: str, typed: str, before: str, after: str, of: str, to: str) -> str | None:
    """Return a German word in English; None for one that stays as it is."""
    if word in _DOCUMENTS:
        return typed
    if before == "run" and word in _REQUEST_WORDS:
        return _REQUEST_WORDS[word]
    if before in _NAMES_A_THING and word not in _PLACES | _TO_ARTICLES | _ON_ARTICLES:
        return None
    if before == "in" and typed[0].isupper() and not word.endswith("dateien") and word not in _NAMES_A_THING:
        return None
    if word == "server" and before in ("alle", "allen", "beide", "beiden"):
        return "servers"
    if word in ("von", "aus"):
        return of
    if word in _ARTICLES_OF:
        return _ARTICLES_OF[word].format(of=of)
    if word in ("auf", "an"):
        return "to" if after in _TO_ARTICLES or word == "an" else "on" if after in _ON_ARTICLES else to
    return _NUMBERS.get(word) or _REQUEST_WORDS.get(plain_letters(word))


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
    rf"|(?:jede[nrsm]?|every|each) (?:(?P<nth>{'|'.join(_NTH)}) )?(?P<day>{_DAY})(?P<month> (?:im|des|jedes) monats?)?"
    rf"|alle (?P<count>\d{{1,2}}|{'|'.join(_COUNTED)}) (?P<unit>{'|'.join(_UNITS)})"
    rf"|an (?P<some>{_DAY})en|(?P<often>montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|werktag)s"
    r"|täglich|stündlich|wöchentlich|monatlich)\b",
    re.IGNORECASE,
)
_HOURS: Final = {"ein": 1, "zwölf": 12} | {
    word: number
    for number, word in enumerate(
        ("eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf"), start=1
    )
}
_OF_HOUR: Final = {"halb": -30, "viertel nach": 15, "viertel vor": -15, "dreiviertel": -15}
"""The minutes before or after the hour that is named: *halb acht* is half past seven."""
_PARTS: Final = {"morgens": "morning", "vormittags": "morning", "nachmittags": "afternoon", "abends": "evening"} | {
    "nachts": "night",
}
_PART: Final = "|".join(_PARTS)
_AT: Final = re.compile(
    rf"\b(?:(?P<before>{_PART}) )?um (?:(?P<of_hour>{'|'.join(_OF_HOUR)}) )?"
    rf"(?:(?P<number>\d{{1,2}})(?:[:.](?P<minute>\d\d))?|(?P<word>{'|'.join(_HOURS)})\b)"
    rf"(?: uhr\b(?: (?P<past>[0-5]?\d)\b)?)?(?! uhr)(?: (?P<behind>{_PART})\b)?",
    re.IGNORECASE,
)
_PARTS_ALONE: Final = re.compile(rf"\b(?:{_PART})\b", re.IGNORECASE)
_OFF: Final = "(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|wochenende)(?:en|s)?"
_EXCEPT_DAYS: Final = re.compile(
    r"\b(?:außer|ausser|ausgenommen|(?:nur |aber )?nicht)(?: (?:an|am|den))? "
    rf"(?P<off>{_OFF}(?:(?:,| und) (?:(?:am|an) )?{_OFF})*)\b",
    re.IGNORECASE,
)
_DAY_NAME: Final = re.compile("|".join(sorted(_DAYS, key=len, reverse=True)), re.IGNORECASE)
_ADVERBS: Final = {"täglich": "day", "stündlich": "hour", "wöchentlich": "week", "monatlich": "month"}


def clock_in_english(words: str) -> str:
    """Return words with a rhythm in German said in English, and all other words as they are."""
    if _CLOCK.search(words) is None:
        return words
    english = _AT.sub(_time, _EXCEPT_DAYS.sub(_except, _CLOCK.sub(_rhythm, words)))
    return _PARTS_ALONE.sub(lambda match: f"{_PARTS[match[0].casefold()]}s", english)


def _except(match: re.Match[str]) -> str:
    days = [_DAYS[name.casefold()] for name in _DAY_NAME.findall(match["off"])]
    return f"except {' and '.join(f'{day}s' for day in days)}"


def _time(match: re.Match[str]) -> str:
    """Return a time of day in English: *um halb acht* is *at 7:30*."""
    hour = int(match["number"]) if match["number"] else _HOURS[match["word"].casefold()]
    minute = int(match["minute"] or match["past"] or 0) + _OF_HOUR.get((match["of_hour"] or "").casefold(), 0)
    part = _PARTS.get((match["before"] or match["behind"] or "").casefold(), "")
    at = f"at {hour + minute // 60}:{minute % 60:02}" if minute else f"at {hour}"
    return f"{at} {'at' if part == 'night' else 'in the'} {part}" if part else at


def _rhythm(match: re.Match[str]) -> str:
    parts = {name: text.casefold() for name, text in match.groupdict().items() if text}
    if date := parts.get("date"):
        return f"every {_NTH.get(date) or date.replace('.', 'th')} of the month"
    if "day" in parts:
        nth = f"{_NTH[parts['nth']]} " if "nth" in parts else ""
        return f"every {nth}{_DAYS[parts['day']]}{' of the month' if 'month' in parts else ''}"
    if "unit" in parts:
        return f"every {_COUNTED.get(parts['count'], parts['count'])} {_UNITS[parts['unit']]}"
    if some := parts.get("some") or parts.get("often"):
        return f"on {_DAYS[some]}s"
    adverb = _ADVERBS.get(match[0].casefold())
    return f"every {adverb}" if adverb else "at the end of each month"
