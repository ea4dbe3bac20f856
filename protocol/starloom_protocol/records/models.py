"""Usage of the owner's model, its calls, and the budget of a constellation; texts are named by hash."""

from __future__ import annotations

from starloom_protocol.records.record import Record


class ModelHold(Record, frozen=True, kw_only=True):
    """The most that a call under way may cost. It ends with the report of the cost, or at `until_ms`."""

    call: str
    """The call as CONSTELLATION/JOB/NUMBER."""
    micros: int = 0
    tokens: int = 0
    until_ms: int


class ModelDay(Record, frozen=True, kw_only=True):
    """One day's calls, tokens and, if the price is known, millionths of a dollar; `day` counts UTC days since 1970."""

    calls: int = 0
    day: int
    held: list[ModelHold] = []
    """The calls under way; those of all constellations are in the newest day."""
    micros: int = 0
    tokens: int = 0


class Spending(Record, frozen=True, kw_only=True):
    """The cost of the model for the same goal or the same constellation in runs before: how many, and what they used.

    All sums lose half of their weight at a fixed number of runs, as those of a `Pace`.
    """

    count: int = 0
    """The runs in the sums."""
    last_ms: int
    micro_logs: int = 0
    """The sum of the logarithms of millionths of a dollar; `PACE_OCTAVE` stands for a doubling."""
    micro_squares: int = 0
    """The sum of the squares of these logarithms."""
    of: str
    """`goal/NAME` or `run/NAME`: the recipe with the goal in it, else a hash of the aim or of the plan."""
    token_logs: int = 0
    """The sum of the logarithms of tokens."""
    token_squares: int = 0
    """The sum of the squares of these logarithms."""


class ModelCall(Record, frozen=True, kw_only=True):
    """One call of a model for a job: the texts that went and came, and the cost."""

    asked_ms: int
    cached_tokens: int = 0
    fault: str = ""
    """Why no reply came."""
    input_tokens: int = 0
    job: str
    micros: int = 0
    """Its cost in millionths of a dollar."""
    model: str = ""
    number: int = 0
    """Counts the calls of the job from 1."""
    output_tokens: int = 0
    prompt: str | None = None
    """The artifact with `{instructions, stage, turns}` as canonical JSON; null: the worker has no artifacts."""
    reply: str | None = None
    """The artifact with `{cut, refused, text}` as canonical JSON; null as that of `prompt`."""
    stage: str
    tier: str = ""
    """That of a goal with several."""
    took_ms: int = 0


class TranscriptCall(Record, frozen=True, kw_only=True):
    """A call with its texts; a text is absent where it was not asked for, not kept, or too large for one reply."""

    call: ModelCall
    prompt_text: str | None = None
    reply_text: str | None = None


class Transcript(Record, frozen=True, kw_only=True):
    """The calls of a model for one constellation, in the order of time."""

    calls: list[TranscriptCall]


class Budget(Record, frozen=True, kw_only=True):
    """The budget of a constellation, `times` over: attempts, and millionths of a dollar for the model; 0: no bound."""

    attempts: int = 0
    micros: int = 0
    times: int = 1


class ModelBudget(Record, frozen=True, kw_only=True):
    """The budget of the owner's model, by the settings of the worker that asks it; null: money is not limited."""

    micros_per_day: int | None = None
    tokens_per_constellation: int = 200_000
    tokens_per_day: int = 1_000_000
