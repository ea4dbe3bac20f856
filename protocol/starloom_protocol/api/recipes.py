"""Answers about recipes: lines of the list, cards of the gallery, whole recipes and their versions."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from starloom_protocol.vocabulary import Effect, Purpose


class OfferedFiles(TypedDict):
    """The files whose names a form offers as values: of a pattern, by the parameters of device, folder and words."""

    on: str
    root: str
    words: str | None
    pattern: str


class RecipeParam(TypedDict):
    """A parameter of a recipe as a form shows it; one with a default counts as optional.

    `spoken`: its value only says in words that a switch of the recipe is on, so a form has the switch in its place.
    `values` are those of a choice, each with its label. `same_as` gives the value of an empty one.
    """

    type: str
    title: str
    optional: bool
    default: Any
    same_as: str | None
    every: bool
    """Whether each of the devices that are named does the work."""
    needs: list[str]
    spoken: bool
    values: dict[str, str]
    offers: OfferedFiles | None


class RecipeHead(TypedDict):
    """The head of a recipe, without its plan."""

    name: str
    title: str
    version: int
    phrases: list[str]
    params: dict[str, RecipeParam]
    asks_for: dict[str, list[str]]
    effects: list[Effect]


class RecipeLine(RecipeHead):
    """A recipe's line. `clock`: all its values have defaults and it never asks, so that a schedule can run it."""

    built_in: bool
    clock: bool


class ExampleTried(TypedDict):
    """A phrase of a recipe filled with values, read as a request: the values that it gives, or why it does not fit.

    `fits` is null where no device here can stand in the sentence, or where the phrase leaves a value to a form.
    """

    words: str
    fits: bool | None
    params: dict[str, Any]
    why: str


class RecipeChecked(RecipeLine):
    """A recipe that was read; `lacking` has a sentence for each tool of it that no device offers now."""

    lacking: list[str]


class RecipeTried(RecipeChecked):
    """A recipe that was checked, with each of its phrases as it is read here."""

    examples: list[ExampleTried]


class SentencePart(TypedDict):
    """A piece of a sentence: plain words, the name of a device, a value that a person may change, a missing device."""

    kind: Literal["words", "device", "value", "missing"]
    text: str


class LackRow(TypedDict):
    """A slot that no device fits, and the way to add one: the browser of a phone, or a line to type."""

    slot: str
    reason: str
    way: Literal["phone", "line"]


class RecipeSentence(TypedDict):
    """A recipe's sentence on the devices of now; owners of the `ungranted` devices have not allowed what it needs."""

    words: str
    parts: list[SentencePart]
    lacks: list[LackRow]
    ungranted: list[str]


class ShapeTask(TypedDict):
    """A task of the drawing. `on` is its device parameter; `many`: it runs once for each of a list."""

    column: int
    row: int
    tool: str
    on: str | None
    many: bool


class RecipeShape(TypedDict):
    """The tasks of a recipe as a small drawing; empty for a plan that is too large for a card."""

    columns: int
    rows: int
    tasks: list[ShapeTask]
    links: list[tuple[int, int]]


class RecipeDemo(TypedDict):
    """The trial of a recipe with the demo devices; `words` are empty while none is in reach."""

    devices: list[str]
    leaves: str
    words: str


class RecipeCard(TypedDict):
    """The card of a recipe in the gallery, for the devices of now."""

    demo: RecipeDemo | None
    purpose: Purpose | None
    sentence: RecipeSentence
    shape: RecipeShape


class RunsRow(TypedDict):
    """The runs of a saved recipe, or of one version of it. `failed` leaves out failures by a device alone."""

    clean: int
    failed: int
    last_clean_at: str | None
    last_clean: str
    last_failed_at: str | None
    last_failed: str


class TrustRow(TypedDict):
    """How far a saved recipe is trusted. `author` saved its newest version; `source` is the constellation that it was
    kept from, empty for another.

    While `trial` words that fit only offer it; after `needed` clean runs in a row they start it. `went_back` says why
    the hub went back to an earlier version, empty where it did not; `unread` until a person has read that.
    """

    author: str
    trial: bool
    in_a_row: int
    needed: int
    source: str
    went_back: str
    back_from: int
    unread: bool
    runs: RunsRow


class RecipeRow(RecipeLine, RecipeCard):
    """A recipe in the list, with its card; `trust` is null for one that is built in."""

    trust: TrustRow | None


class RecipeText(RecipeLine):
    """A recipe's line with its document as data and its text as written."""

    document: dict[str, Any]
    plan: dict[str, Any]
    text: str


class RecipeWhole(RecipeText, RecipeCard):
    """A recipe whole, with its card; `trust` is null for one that is built in."""

    trust: TrustRow | None


class RecipeVersionRow(TypedDict):
    """A version of a saved recipe that is kept, with its runs.

    Where the hub went back, `back_from` is the version whose runs failed (else 0), and `because` says why.
    """

    version: int
    title: str
    author: str
    saved_at: str | None
    back_from: int
    because: str
    runs: RunsRow


class ProposalRow(TypedDict):
    """A plan that ended clean, as the recipe that it would become. `request` are the words that the person typed.

    `phrase` is empty where the words make none; `values` are those of the plan, by slot, and `answers` the slots that
    the person filled by an answer. `document` is the recipe, ready to be saved with `proposal`.
    """

    id: str
    constellation: str
    proposed_at: str | None
    request: str
    name: str
    title: str
    phrase: str
    values: dict[str, Any]
    answers: list[str]
    effects: list[Effect]
    document: dict[str, Any]
    text: str


class LeftRow(TypedDict):
    """A plan that ended clean after a look or an answer, and that code cannot make again: `because` says why."""

    constellation: str
    request: str
    because: str


class ProposalList(TypedDict):
    """The proposals of the caller, the newest first, and the plans that are none."""

    items: list[ProposalRow]
    next: None
    left_out: list[LeftRow]


class RecipeNamed(TypedDict):
    """The recipe that an action was about."""

    name: str
