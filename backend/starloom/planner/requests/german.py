"""German words of requests in English, so that a person who writes German is shown the nearest sentences.

Nothing runs by them: words without a model are English, and a word-by-word translation is no request.
"""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"\w+")
_TABLE: Final = """
alle: all
anlegen: make
auf: on
aufräumen: duplicates trash
auslastung: machines
backup: back up
belegt: disk fills
bild bilder bildern foto fotos photos: pictures
datei dateien: files
daten: files
die der das den dem des: the
doppelt doppelte doppelten doppeltes duplikate: duplicates
durchsuche durchsuchen: search files for
fehler fehlermeldungen: errors
finde finden suche suchen such: find
freier frei: space free
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
und: and
vergleiche vergleich: compare
voll: fills disk
von vom aus: of
was: what
welche welcher welches: which
wie: how
wo: where
"""
_IN_ENGLISH: Final = {
    word: english.strip()
    for line in _TABLE.strip().splitlines()
    for words, _, english in [line.partition(":")]
    for word in words.split()
}
_GERMAN_ONLY: Final = frozenset(_IN_ENGLISH) - {"backup", "computer", "die", "in", "test", "tests", "fotos", "photos"}
"""Those words of the table that no English request has."""
_ENOUGH: Final = 2


def in_english(words: str) -> str:
    """Return German words in English, word by word, as far as the table goes; empty for words that are not German."""
    said = _WORD.findall(words.casefold())
    if sum(word in _GERMAN_ONLY for word in said) < min(_ENOUGH, len(said)):
        return ""
    return " ".join(_IN_ENGLISH.get(word, word) for word in said)
