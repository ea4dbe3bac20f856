"""The codes of errors and refusals, and the meaning of each: its class, its title and its remedy.

Stable: a code is never renamed and never reused. Part of the vocabulary: `vocabulary` re-exports it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CodeClass(StrEnum):
    """The first step of the recovery ladder: retry here, do not retry, or try another device."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    DEVICE = "device"


class Code(StrEnum):
    """Stable error codes; each has a row in `CODES` and in `docs/errors.md`."""

    # plans and requests
    PLAN_INVALID = "plan_invalid"
    PLAN_CYCLE = "plan_cycle"
    PLAN_TOO_BIG = "plan_too_big"
    DUPLICATE_ID = "duplicate_id"
    UNKNOWN_TASK = "unknown_task"
    UNKNOWN_TOPIC = "unknown_topic"
    UNKNOWN_DEVICE = "unknown_device"
    UNKNOWN_TOOL = "unknown_tool"
    UNKNOWN_FIELD = "unknown_field"
    UNKNOWN_OUTPUT = "unknown_output"
    WRONG_TYPE = "wrong_type"
    UNKNOWN_PARAM = "unknown_param"
    MISSING_PARAM = "missing_param"
    NOT_REPEATABLE = "not_repeatable"
    UNKNOWN_RECIPE = "unknown_recipe"
    REQUEST_AMBIGUOUS = "request_ambiguous"
    RECIPE_ON_TRIAL = "recipe_on_trial"
    REQUEST_NOT_UNDERSTOOD = "request_not_understood"
    MODEL_NOT_SET = "model_not_set"
    MODEL_UNREACHABLE = "model_unreachable"
    MODEL_ANSWER = "model_answer"
    MODEL_BUDGET = "model_budget"
    PLAN_HASH_MISMATCH = "plan_hash_mismatch"
    NEEDS_APPROVAL = "needs_approval"
    ANSWERED_THERE = "answered_there"
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    BAD_SCHEDULE = "bad_schedule"
    TOO_MANY_SCHEDULES = "too_many_schedules"
    TOO_MANY_RECIPES = "too_many_recipes"
    TOO_MANY_SECRETS = "too_many_secrets"
    RIGHTS_LOST = "rights_lost"
    # edits and controls
    EDIT_CONFLICT = "edit_conflict"
    TASK_STARTED = "task_started"
    PERSON_EDITING = "person_editing"
    ILLEGAL_CONTROL = "illegal_control"
    DOWNSTREAM_STARTED = "downstream_started"
    NEEDS_CONFIRM = "needs_confirm"
    HAS_DEPENDENTS = "has_dependents"
    NOT_SIMULATED = "not_simulated"
    FAULT_IMPOSSIBLE = "fault_impossible"
    SCENARIO_BUSY = "scenario_busy"
    # access
    NOT_SIGNED_IN = "not_signed_in"
    FORBIDDEN = "forbidden"
    BAD_TOKEN = "bad_token"
    BAD_CODE = "bad_code"
    BAD_HOST = "bad_host"
    BAD_ORIGIN = "bad_origin"
    CSRF = "csrf"
    RATE_LIMITED = "rate_limited"
    NOT_FOUND = "not_found"
    PRUNED = "pruned"
    TOO_LARGE = "too_large"
    BAD_REQUEST = "bad_request"
    CONFLICT = "conflict"
    # service
    OVERLOADED = "overloaded"
    STORE_UNAVAILABLE = "store_unavailable"
    UNSETTLED = "unsettled"
    DISK_FULL = "disk_full"
    HISTORY_CORRUPT = "history_corrupt"
    INTERNAL = "internal"
    HUB_UNREACHABLE = "hub_unreachable"
    # running a task
    TOOL_FAILED = "tool_failed"
    EXIT_CODE = "exit_code"
    TIMED_OUT = "timed_out"
    NOT_IN_TIME = "not_in_time"
    INTERRUPTED = "interrupted"
    LOST = "lost"
    CHECK_FAILED = "check_failed"
    GOAL_UNMET = "goal_unmet"
    NO_DEVICE = "no_device"
    NOT_A_LIST = "not_a_list"
    NO_VALUE = "no_value"
    FACT_TOO_BIG = "fact_too_big"
    BAD_ARGUMENTS = "bad_arguments"
    POLICY_REFUSED = "policy_refused"
    MISSING_GRANT = "missing_grant"
    TOOL_UNAVAILABLE = "tool_unavailable"
    SECRET_UNREADABLE = "secret_unreadable"
    SECRET_NOT_TAKEN = "secret_not_taken"
    SECRET_IN_FILE = "secret_in_file"
    FENCED = "fenced"
    FILE_NOT_FOUND = "file_not_found"
    NO_SPACE = "no_space"
    OUTPUT_TOO_BIG = "output_too_big"
    MEMORY_EXCEEDED = "memory_exceeded"
    DISK_EXCEEDED = "disk_exceeded"
    ARTIFACT_CORRUPT = "artifact_corrupt"
    NETWORK = "network"
    DECLINED = "declined"
    MARKED_FAILED = "marked_failed"
    GROUP_NEED = "group_need"
    NO_WINNER = "no_winner"
    DEVICE_OUTSIDE = "device_outside"
    CONDITION_UNMET = "condition_unmet"
    MOMENT_OUTSIDE = "moment_outside"
    DEVICE_REVOKED = "device_revoked"
    QUARANTINED = "quarantined"
    # the channel
    PROTOCOL_ERROR = "protocol_error"
    FRAME_TOO_LARGE = "frame_too_large"
    BAD_SIGNATURE = "bad_signature"
    UNKNOWN_KEY = "unknown_key"
    HUB_TOO_OLD = "hub_too_old"
    AGENT_TOO_OLD = "agent_too_old"
    TAKEN_OVER = "taken_over"
    NOT_APPROVED = "not_approved"


@dataclass(frozen=True, slots=True)
class CodeInfo:
    """The meaning of a code wherever it is shown: ladder class, HTTP status, title and remedy."""

    code_class: CodeClass
    status: int
    title: str
    hint: str


_T, _P, _D = CodeClass.TRANSIENT, CodeClass.PERMANENT, CodeClass.DEVICE

CODES: dict[Code, CodeInfo] = {
    Code.PLAN_INVALID: CodeInfo(_P, 422, "The plan has faults", "Correct each listed place and send it again."),
    Code.PLAN_CYCLE: CodeInfo(_P, 422, "The plan has a cycle", "Remove one of the named dependencies."),
    Code.PLAN_TOO_BIG: CodeInfo(_P, 422, "The plan is too big", "Split it, or use for_each over a list."),
    Code.DUPLICATE_ID: CodeInfo(_P, 422, "Two tasks have the same id", "Rename one of them."),
    Code.UNKNOWN_TASK: CodeInfo(_P, 422, "No task has this id", "`starloom show` lists its tasks."),
    Code.UNKNOWN_TOPIC: CodeInfo(
        _P, 422, "No task publishes this topic", "Use a topic that a task of the plan publishes by `finds`."
    ),
    Code.UNKNOWN_DEVICE: CodeInfo(_P, 422, "No device has this name", "See `starloom devices` for the names."),
    Code.UNKNOWN_TOOL: CodeInfo(
        _P, 422, "No device offers this tool", "See `starloom devices`, or add a device that has it."
    ),
    Code.UNKNOWN_FIELD: CodeInfo(_P, 422, "This field does not exist here", "Remove it or correct its name."),
    Code.UNKNOWN_OUTPUT: CodeInfo(
        _P,
        422,
        "The result has no such field",
        "See the fields of the tool's result in docs/tools.md, or `starloom tools show NAME`.",
    ),
    Code.WRONG_TYPE: CodeInfo(
        _P, 422, "The tool takes a value of another type", "See the tool's schema in `starloom tools show NAME`."
    ),
    Code.UNKNOWN_PARAM: CodeInfo(
        _P, 422, "The recipe has no such parameter", "See `starloom recipe show` for its parameters."
    ),
    Code.MISSING_PARAM: CodeInfo(_P, 422, "A parameter has no value", "Give it with -p name=value."),
    Code.NOT_REPEATABLE: CodeInfo(
        _P,
        422,
        "This work is not moved without your word",
        "Use on_absence wait or fail, or declare it idempotent.",
    ),
    Code.UNKNOWN_RECIPE: CodeInfo(_P, 404, "No recipe has this name", "See `starloom recipes`."),
    Code.REQUEST_AMBIGUOUS: CodeInfo(
        _P,
        422,
        "No recipe fits these words exactly",
        "Pick a candidate and fill in what it lacks, or say it another way. By hand: on the page *New "
        "request*, *Build*; in a terminal `starloom submit -f PLAN.yaml` (docs/plans.md).",
    ),
    Code.RECIPE_ON_TRIAL: CodeInfo(
        _P,
        422,
        "These words fit a recipe that is on trial",
        "Start it by its name, as shown; once its trial has ended these words start it.",
    ),
    Code.REQUEST_NOT_UNDERSTOOD: CodeInfo(
        _P,
        422,
        "No recipe fits these words",
        "Pick a recipe (`starloom recipes`), or make a plan by hand: on the page *New request*, *Build*; in a terminal "
        "`starloom submit -f PLAN.yaml` (docs/plans.md).",
    ),
    Code.MODEL_NOT_SET: CodeInfo(_P, 422, "No model is set up", "Set one (docs/models.md), or use a recipe."),
    Code.MODEL_UNREACHABLE: CodeInfo(_T, 502, "The model does not answer", "Test it in Settings > Model."),
    Code.MODEL_ANSWER: CodeInfo(_P, 422, "The model gave no plan", "Use other words, a recipe, or rows."),
    Code.MODEL_BUDGET: CodeInfo(_P, 429, "The model's budget is used up", "Wait a day (UTC), or raise it."),
    Code.PLAN_HASH_MISMATCH: CodeInfo(
        _P, 409, "The plan changed since the preview", "Look at the new preview and approve that."
    ),
    Code.NEEDS_APPROVAL: CodeInfo(
        _P,
        409,
        "This needs an approval",
        "Approve it on the page or with `starloom approve`, or on the device that asks.",
    ),
    Code.ANSWERED_THERE: CodeInfo(
        _P,
        409,
        "This device takes answers only on itself",
        "Type the line there, or let it take answers from here: on the device, `starloom-agent policy --answers hub`.",
    ),
    Code.IDEMPOTENCY_MISMATCH: CodeInfo(
        _P, 409, "This key was used with another body", "Use a new Idempotency-Key for a new request."
    ),
    Code.BAD_SCHEDULE: CodeInfo(
        _P,
        422,
        "The schedule is not valid",
        'Say how often, as in "every night at 2", or give five fields (minute hour day month weekday), as in '
        '"0 2 * * *". The zone is a name such as Europe/Vienna.',
    ),
    Code.TOO_MANY_RECIPES: CodeInfo(
        _P, 409, "No more recipes can be saved", "Remove one that is not needed, with `starloom recipe rm`."
    ),
    Code.TOO_MANY_SECRETS: CodeInfo(
        _P, 409, "No more secrets are kept", "Remove one that is not needed with `starloom secret rm`."
    ),
    Code.TOO_MANY_SCHEDULES: CodeInfo(
        _P,
        409,
        "There are as many schedules as the hub keeps",
        "Remove one that is not needed with `starloom schedule rm`.",
    ),
    Code.RIGHTS_LOST: CodeInfo(
        _P,
        403,
        "Who made the schedule may not run it any more",
        "Someone who may run work resumes it with `starloom schedule resume`, and owns it from then on.",
    ),
    Code.EDIT_CONFLICT: CodeInfo(
        _P, 409, "The plan changed meanwhile", "Read the current version and propose the edit again."
    ),
    Code.TASK_STARTED: CodeInfo(_P, 409, "The task has started", "Cancel it first, or edit what comes after it."),
    Code.PERSON_EDITING: CodeInfo(
        _P,
        409,
        "A person is editing this part",
        "Wait until the draft is applied or closed; without its page it ends in two minutes.",
    ),
    Code.ILLEGAL_CONTROL: CodeInfo(
        _P,
        409,
        "This is not possible in the present state",
        "See the state it is in; the reason names what is possible.",
    ),
    Code.DOWNSTREAM_STARTED: CodeInfo(
        _P, 409, "Work that depends on it is under way", "Cancel the named tasks first, or wait for them."
    ),
    Code.NEEDS_CONFIRM: CodeInfo(
        _P,
        409,
        "Work that may not be repeated would run again",
        "Confirm the named tasks if running them twice is safe.",
    ),
    Code.HAS_DEPENDENTS: CodeInfo(
        _P, 422, "Other tasks depend on it", "Remove or re-source the named dependencies in the same edit."
    ),
    Code.NOT_SIMULATED: CodeInfo(
        _P,
        409,
        "This is a real device",
        "The lab breaks simulated devices only: start some with `starloom up --demo`, or break a whole installation "
        "of its own with `starloom chaos run`.",
    ),
    Code.FAULT_IMPOSSIBLE: CodeInfo(
        _P, 409, "This cannot be broken now", "`GET /api/v1/lab/faults` says what can be broken and what lasts."
    ),
    Code.SCENARIO_BUSY: CodeInfo(
        _P, 409, "A scenario is running already", "Wait for its verdict, or stop it; one runs at a time."
    ),
    Code.NOT_SIGNED_IN: CodeInfo(
        _P, 401, "You are not signed in", "Run `starloom open` for a sign-in link, or send a bearer token."
    ),
    Code.FORBIDDEN: CodeInfo(
        _P,
        403,
        "Your rights do not allow this",
        "Ask an owner for a token with the role or the scope that is named; without scopes it has all of its role.",
    ),
    Code.BAD_TOKEN: CodeInfo(
        _P,
        401,
        "The token is not valid",
        "It may be expired or revoked; make a new one with `starloom token create`.",
    ),
    Code.BAD_CODE: CodeInfo(
        _P,
        403,
        "The code is not valid",
        "It may be used, expired or mistyped; make a new one with `starloom enroll`.",
    ),
    Code.BAD_HOST: CodeInfo(
        _P,
        421,
        "This address is not one of the hub's",
        "Use the printed address, or set STARLOOM_PUBLIC_URL.",
    ),
    Code.BAD_ORIGIN: CodeInfo(_P, 403, "The request came from a foreign page", "Open the hub's own page."),
    Code.CSRF: CodeInfo(_P, 403, "The page's token is missing or old", "Reload the page."),
    Code.RATE_LIMITED: CodeInfo(_T, 429, "Too many tries", "Wait for the time named and try again."),
    Code.NOT_FOUND: CodeInfo(_P, 404, "It does not exist", "Check the id; `starloom ls` lists what exists."),
    Code.PRUNED: CodeInfo(
        _P,
        410,
        "It was pruned from the history",
        "The settings `history_keep_days` and `history_keep_mb` say how much of the history is kept.",
    ),
    Code.TOO_LARGE: CodeInfo(_P, 413, "What was sent is too large", "Send at most the size named."),
    Code.BAD_REQUEST: CodeInfo(_P, 422, "The request has faults", "Correct each listed place and send it again."),
    Code.CONFLICT: CodeInfo(_P, 409, "It conflicts with what exists", "Change what the reason names, and ask again."),
    Code.OVERLOADED: CodeInfo(
        _T, 503, "The hub cannot take new work now", "Try again after the time named; nothing was accepted."
    ),
    Code.STORE_UNAVAILABLE: CodeInfo(
        _T, 503, "The hub's store does not answer", "Run `starloom doctor`; nothing was accepted."
    ),
    Code.UNSETTLED: CodeInfo(
        _T,
        503,
        "It may have been carried out",
        "See what became of it before you ask again; with the same Idempotency-Key nothing is made twice.",
    ),
    Code.DISK_FULL: CodeInfo(
        _T,
        503,
        "The disk of the hub is full",
        "Free some space in the named folder; the hub then goes on without a restart.",
    ),
    Code.HISTORY_CORRUPT: CodeInfo(
        _P,
        503,
        "The history of the hub is corrupt",
        "Stop the hub, then restore a backup; `starloom restore FILE --replace` keeps the corrupt files aside "
        "(docs/backup.md).",
    ),
    Code.INTERNAL: CodeInfo(_P, 500, "The hub has a fault", "Please report it with the id; the log has the details."),
    Code.HUB_UNREACHABLE: CodeInfo(
        _T, 503, "The hub does not answer", "Start it with `starloom up`, or name it with --hub."
    ),
    Code.TOOL_FAILED: CodeInfo(_P, 422, "The tool failed", "See its message and the log of the attempt."),
    Code.EXIT_CODE: CodeInfo(_P, 422, "The program ended with an error", "See the log of the attempt."),
    Code.TIMED_OUT: CodeInfo(
        _T, 422, "It took longer than allowed", "Raise timeouts.start_to_close_s or make the work smaller."
    ),
    Code.NOT_IN_TIME: CodeInfo(
        _P,
        422,
        "It was not so in the time that the plan allows",
        "Find out why it is not so, or allow more time with `within_s`; `starloom retry TASK` waits once more.",
    ),
    Code.INTERRUPTED: CodeInfo(
        _T,
        422,
        "The agent stopped in the middle",
        "It is retried where that is safe; otherwise retry it by hand.",
    ),
    Code.LOST: CodeInfo(
        _D,
        422,
        "The device did not come back in time",
        "See the device; another one takes over where that is safe.",
    ),
    Code.GOAL_UNMET: CodeInfo(
        _P, 422, "The goal was not reached", "Read its steps, then run it again with a hint, more tools or more steps."
    ),
    Code.CHECK_FAILED: CodeInfo(
        _P, 422, "The result did not meet its check", "See the named check and the value found."
    ),
    Code.NO_DEVICE: CodeInfo(_P, 422, "No device fits", "Add a device or widen the selector."),
    Code.NOT_A_LIST: CodeInfo(_P, 422, "The value is not a list", "Point for_each at a list in the output."),
    Code.NO_VALUE: CodeInfo(_P, 422, "The pointer finds nothing", "See the output of the task for its fields."),
    Code.FACT_TOO_BIG: CodeInfo(
        _P,
        422,
        "The value is too big to decide on",
        "Point at something smaller: a scalar up to 1 KiB, a list up to 10,000 items.",
    ),
    Code.BAD_ARGUMENTS: CodeInfo(
        _P,
        422,
        "The tool does not accept these arguments",
        "See the tool's schema in `starloom device show`.",
    ),
    Code.POLICY_REFUSED: CodeInfo(
        _D, 422, "The device's owner does not allow this", "Type the named line on the device to allow it."
    ),
    Code.SECRET_UNREADABLE: CodeInfo(
        _P, 422, "The hub cannot open a secret", "Set it again: `starloom secret set NAME` (docs/secrets.md)."
    ),
    Code.SECRET_NOT_TAKEN: CodeInfo(
        _P, 422, "This argument takes no secret", "Give it where docs/tools.md says so, mostly in `env` or `stdin`."
    ),
    Code.SECRET_IN_FILE: CodeInfo(
        _P, 422, "A file to be sent holds a secret", "Let the tool leave the value out of its files."
    ),
    Code.MISSING_GRANT: CodeInfo(
        _D,
        422,
        "A grant is missing on the device",
        "Type the named line on the device; it then goes on.",
    ),
    Code.TOOL_UNAVAILABLE: CodeInfo(
        _D,
        422,
        "The device does not offer this tool now",
        "See the probe's reason in `starloom device show`.",
    ),
    Code.FENCED: CodeInfo(
        _D,
        422,
        "The attempt had lost its lease",
        "A newer attempt has the work while the task may be repeated; if it has failed, retry it.",
    ),
    Code.FILE_NOT_FOUND: CodeInfo(
        _P,
        422,
        "The file does not exist on the device",
        "Check the path on that device, or set the device that has it.",
    ),
    Code.NO_SPACE: CodeInfo(
        _D, 422, "The device has too little free space", "Free some space or choose another device."
    ),
    Code.OUTPUT_TOO_BIG: CodeInfo(_P, 422, "The output is too big", "Write it to a file and hand that on."),
    Code.MEMORY_EXCEEDED: CodeInfo(
        _P, 422, "The program used more memory than a call may", "Give it less to do at a time, or split the work."
    ),
    Code.DISK_EXCEEDED: CodeInfo(
        _P, 422, "The program wrote more than a call may", "Write less, or split the work over several tasks."
    ),
    Code.ARTIFACT_CORRUPT: CodeInfo(
        _T, 422, "The bytes do not match their hash", "It is fetched again; look at the disk if it repeats."
    ),
    Code.NETWORK: CodeInfo(_T, 422, "The network failed", "It is retried; see the log of the attempt."),
    Code.DECLINED: CodeInfo(_P, 422, "A person declined", "See the answer and its reason."),
    Code.MARKED_FAILED: CodeInfo(_P, 422, "A person marked it as failed", "Its history names who did, and the reason."),
    Code.GROUP_NEED: CodeInfo(
        _P, 422, "Too few of the group succeeded", "See the failed children; retry of the group retries them."
    ),
    Code.NO_WINNER: CodeInfo(
        _P, 422, "The vote has no winner", "See the ballots; retry the calls, or vote with a weaker rule."
    ),
    Code.DEVICE_OUTSIDE: CodeInfo(
        _P,
        422,
        "The result names no device that the plan allows",
        "See the result; widen `within` if that device is meant.",
    ),
    Code.CONDITION_UNMET: CodeInfo(
        _P,
        422,
        "All turns were made, and the condition was not met",
        "See the results of the turns; allow more of them with `repeat.max`, or change the condition.",
    ),
    Code.MOMENT_OUTSIDE: CodeInfo(
        _P,
        422,
        "The result names no time at which the task may begin",
        "See the result; write a zone for times without one, and `within_s` for later ones.",
    ),
    Code.DEVICE_REVOKED: CodeInfo(_D, 422, "The device was revoked", "Enroll it again if that was a mistake."),
    Code.QUARANTINED: CodeInfo(
        _P, 422, "The task ended two agents and is set aside", "Look at its log before you retry it."
    ),
    Code.PROTOCOL_ERROR: CodeInfo(_P, 400, "The other side broke the protocol", "Update the older side."),
    Code.FRAME_TOO_LARGE: CodeInfo(_P, 413, "A frame is too large", "Send big values as artifacts."),
    Code.BAD_SIGNATURE: CodeInfo(_P, 403, "The key's proof is wrong", "Join the device again."),
    Code.UNKNOWN_KEY: CodeInfo(
        _P, 403, "The hub does not know this device", "Join it with a fresh line from `starloom enroll`."
    ),
    Code.HUB_TOO_OLD: CodeInfo(_P, 426, "The hub is too old for this agent", "Update the hub."),
    Code.AGENT_TOO_OLD: CodeInfo(
        _P,
        426,
        "The agent is too old for this hub",
        "Type on that device: starloom-agent upgrade; or a line of starloom enroll, where it has no such command.",
    ),
    Code.TAKEN_OVER: CodeInfo(
        _P,
        409,
        "Another connection with the same key took over",
        "Stop the other agent, or join this one under its own key.",
    ),
    Code.NOT_APPROVED: CodeInfo(
        _P, 403, "The device waits for approval", "Compare the words on both screens and approve it in Fleet."
    ),
}
