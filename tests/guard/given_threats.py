"""The rows of the threat table about what a device gives with its files and its work: reports, names, numbers."""

from __future__ import annotations

from tests.guard.threat import Threat

GIVEN_THREATS = (
    Threat(
        "T26",
        "a joined device reports on, or edits, the work of others",
        "a report counts for the sender's own open attempt; no frame edits a plan",
    ),
    Threat(
        "T257",
        "a device gives a file the name of the trash, and where it comes nothing can be removed or replaced any more;"
        " or a path of a plan leads into a trash, and a way back is changed or taken away",
        "such a file comes in under another name; no call writes into a trash or moves something out of it by its path",
        part="a program that its owner lets change granted folders reaches the trash in them",
    ),
    Threat(
        "T258",
        "a device sends its output with a place of hundreds of digits, which no disk can name: an error of the hub in"
        " its log for each piece, and the output cannot be read; or a size that no page can show",
        "the place of output and the size of a result are whole numbers from 0 to 2**53; another one ends the"
        " connection",
    ),
    Threat(
        "T259",
        "a device gives a result or a fact with a number of thousands of digits or beyond all floats: it counts as"
        " JSON, and each look at the constellation ends in an error",
        "a value in a frame is read as each later reader does; one that cannot be read ends the connection",
        part="a value that is a file is read where it is used, and fails that call",
    ),
    Threat(
        "T260",
        "a device gives a size far below zero, and the engine fails at the result that it is in or at the question that"
        " shows it",
        "a size is cut to what can be said on both sides",
    ),
    Threat(
        "T261",
        "a device gives a share of hundreds of digits, or a time at the end of the year 9999, and the terminal shows"
        " nothing of the answer or of the questions",
        "such a figure is shown as it is; a date is one in every zone of the world",
    ),
    Threat(
        "T262",
        "a device gives a number beyond all floats in a result that an answer of a model cites, and the answer fails",
        "such a number proves no figure of an answer",
    ),
    Threat(
        "T263",
        "a device gives one of its files a time of hundreds of digits, and the copy of all its files fails after it",
        "times are compared as whole numbers; a time that the disk does not take is said beside the file",
    ),
    Threat(
        "T264",
        "a file beside the backups, or a night with a wrong clock, has a date in its name that is none or far ahead:"
        " a rotation keeps it, and moves the real backups to the trash, the new one, too",
        "a name without a real date is no backup; one that is dated after the new one stays and does not count",
    ),
    Threat(
        "T265",
        "a device reports on, or a person asks about, a constellation that is called as the records of the fleet or of"
        " access are: while the history is behind, these are loaded from it, and a revocation, a join or a narrowed"
        " right is undone",
        "the records of fleet and access never leave memory, and no input loads them",
    ),
    Threat(
        "T266",
        "a device reports on a constellation whose name PostgreSQL does not take, or is megabytes long: it waits"
        " for ever, and nobody can look at or control what has left memory",
        "the name of a constellation in a frame has at most 200 characters and no NUL; another one ends the connection",
    ),
    Threat(
        "T267",
        "the words of a request, or a name, have a NUL character: PostgreSQL takes no commit with them, and the history"
        " of everybody stands still, after each new start, too",
        "the columns that are searched have another sign in its place; the history keeps the words as they are",
        ("tests/store/test_contract.py", "tests/store/sql/test_history_postgres.py"),
    ),
    Threat(
        "T268",
        "a device reports on constellations that have left memory, or never were, while the history is away: each of"
        " these results waits in memory",
        "so many wait and no more; a device sends a further one again when it connects",
    ),
    Threat(
        "T269",
        "a revoked device does not read its connection: the hub cannot say the last word, and goes on to take its"
        " output, its offers and its condition, which shows it online",
        "nothing that a connection says counts once it is to end, and the record of a revoked device stands; a peer"
        " that reads nothing for a minute is cut off, however much it says",
    ),
    Threat(
        "T270",
        "a copied or stolen key of an agent connects, the agent itself stops, and its owner sees a device that is"
        " online; or both give results and output",
        "the newest connection has the device, no other one is heard, and the record of activity says that two agents"
        " with the key are there",
        part="a thief that waits until the agent is away is not told from it; a page that is opened twice is not told",
    ),
    Threat(
        "T271",
        "the author of files of few kilobytes has a comparison or a search of them keep a device at work for hours",
        "texts are compared by whole rows of bits: so many lines take a part of a second, whatever is in them; a search"
        " counts what it unpacks",
    ),
)
