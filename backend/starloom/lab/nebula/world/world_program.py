"""`nebula-world`: the MCP program behind the own tools of a device of the suite (mail, calendar, services and so on).

Standard library alone, started for each call by the agent: `world_program.py AREA FOLDER`. State is JSON in that
folder, changed under a file lock; each call appends one line to `calls.jsonl`, which is what a check counts. A call
takes a log-normal time drawn from (seed, device, tool, number of the call). It touches nothing outside the folder.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROTOCOL = "2025-06-18"
CALLS = "calls.jsonl"
PROFILE = "profile.json"
NOISE = "noise.json"
MOMENT = "out of order for a moment; try again"
FOR_GOOD = "out of order"
SLOW_TIMES = 10
MEDIAN_S = 0.12
SPREAD = 0.5
LONGEST_S = 3.0

State = dict[str, Any]
Answer = dict[str, Any]


class Refused(Exception):
    """The call cannot be carried out: the text says why."""


def text(of: str = "") -> dict[str, Any]:
    return {"type": "string", "description": of}


def rows_of(**fields: dict[str, Any]) -> dict[str, Any]:
    row = {"type": "object", "properties": fields}
    return {"type": "object", "properties": {"rows": {"type": "array", "items": row}, "count": {"type": "integer"}}}


def one_of(**fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def _rows(rows: list[dict[str, Any]]) -> Answer:
    return {"rows": rows, "count": len(rows)}


def _row_with(rows: list[dict[str, Any]], key: str, value: Any, what: str) -> dict[str, Any]:
    for row in rows:
        if row[key] == value:
            return row
    raise Refused(f"there is no {what} {value}; there are {', '.join(str(row[key]) for row in rows)}")


def mail_list(state: State, args: State) -> Answer:
    mails = [row for row in state["inbox"] if row["unread"] or not args.get("unread")]
    return _rows([{name: row[name] for name in ("id", "from", "subject", "unread")} for row in mails])


def mail_read(state: State, args: State) -> Answer:
    return dict(_row_with(state["inbox"], "id", args["id"], "mail"))


def mail_send(state: State, args: State) -> Answer:
    to = args["to"] if isinstance(args["to"], list) else [args["to"]]
    if not to or not all(isinstance(one, str) and "@" in one for one in to):
        raise Refused("to: one address or a list of addresses, such as ann@example.org")
    attachment = args.get("attachment") or {}
    sent = {"to": to, "subject": args["subject"], "text": args["text"]}
    if attachment:
        digest = attachment.get("artifact") or attachment.get("sha256")
        sent["attachment"] = {"name": str(attachment.get("name", "")), "sha256": str(digest or "")}
    state["sent"].append(sent)
    return {"id": f"s-{len(state['sent'])}", "to": to}


def cal_list(state: State, args: State) -> Answer:
    events = [row for row in state["events"] if args.get("day") in (None, row["day"])]
    return _rows(sorted(events, key=lambda row: (row["day"], row["start"])))


def cal_move(state: State, args: State) -> Answer:
    event = _row_with(state["events"], "id", args["id"], "event")
    if "was" in args and args["was"] != f"{event['day']} {event['start']}":
        raise Refused(f"{event['title']} is on {event['day']} at {event['start']} by now")
    event["day"], event["start"] = args["day"], args["start"]
    return dict(event)


def cal_add(state: State, args: State) -> Answer:
    event = {"id": f"e-{len(state['events']) + 1}", "attendees": [], "minutes": 60, **args}
    state["events"].append(event)
    return dict(event)


def notes_list(state: State, _args: State) -> Answer:
    return _rows(state["notes"])


def notes_add(state: State, args: State) -> Answer:
    state["notes"].append({"id": f"n-{len(state['notes']) + 1}", "text": args["text"]})
    return dict(state["notes"][-1])


def svc_list(state: State, _args: State) -> Answer:
    return _rows([{"name": name, "state": one["state"]} for name, one in sorted(state["services"].items())])


def _service(state: State, name: str) -> dict[str, Any]:
    if name not in state["services"]:
        raise Refused(f"there is no service {name}; there are {', '.join(sorted(state['services']))}")
    return dict(state["services"][name])


def svc_status(state: State, args: State) -> Answer:
    one = _service(state, args["name"])
    return {"name": args["name"], "state": one["state"], "detail": one.get("detail", "")}


def _blocked(service: dict[str, Any]) -> bool:
    """Whether a service cannot come up: a file of the device is larger than it bears."""
    blocked = service.get("blocked")
    if not blocked:
        return False
    path = Path(blocked["path"])
    return path.exists() and path.stat().st_size > int(blocked["bytes"])


def svc_restart(state: State, args: State) -> Answer:
    one = _service(state, args["name"])
    if _blocked(one):
        one.update(state="failed", detail=one["blocked"]["detail"])
    else:
        one.update(state="running", detail="", restarts=one.get("restarts", 0) + 1)
    state["services"][args["name"]] = one
    if one["state"] != "running":
        raise Refused(f"{args['name']} did not come up: {one['detail']}")
    return {"name": args["name"], "state": one["state"], "restarts": one["restarts"]}


def svc_stop(state: State, args: State) -> Answer:
    state["services"][args["name"]] = {**_service(state, args["name"]), "state": "stopped"}
    return {"name": args["name"], "state": "stopped"}


def pkg_list(state: State, args: State) -> Answer:
    packages = [row for row in state["packages"] if row["current"] != row["available"]]
    return _rows([row for row in packages if row["security"] or not args.get("security")])


def pkg_upgrade(state: State, args: State) -> Answer:
    names = args.get("names")
    done = []
    for row in state["packages"]:
        is_chosen = row["name"] in names if names else row["security"]
        if is_chosen and row["current"] != row["available"]:
            row["current"] = row["available"]
            done.append(row["name"])
    if state.get("breaks"):
        state["up"] = False
    return {"upgraded": done, "count": len(done), "up": state.get("up", True)}


def metrics_read(state: State, _args: State) -> Answer:
    return dict(state["now"])


def msg_send(state: State, args: State) -> Answer:
    state["sent"].append({"to": args["to"], "text": args["text"]})
    return {"id": f"m-{len(state['sent'])}", "to": args["to"]}


def loc_read(state: State, _args: State) -> Answer:
    return dict(state["now"])


def cam_shot(state: State, args: State) -> Answer:
    state["shots"] = state.get("shots", 0) + 1
    picture = state["pictures"][(state["offset"] + state["shots"] - 1) % len(state["pictures"])]
    name = str(args.get("name") or f"shot-{state['shots']}.png")
    return {"name": name, "sha256": hashlib.sha256(base64.b64decode(picture)).hexdigest(), "picture": picture}


ID, DAY, START = text("As the list names it."), text("YYYY-MM-DD."), text("HH:MM.")
WAS = text("YYYY-MM-DD HH:MM where it must still be; else it is not moved.")
MAIL_ROW = {"id": text(), "from": text(), "subject": text(), "unread": {"type": "boolean"}}
EVENT = {"id": text(), "title": text(), "day": text(), "start": text(), "minutes": {"type": "integer"}}
EVENT["attendees"] = {"type": "array", "items": text()}
TO = {"description": "An address, or a list of them.", "anyOf": [text(), {"type": "array", "items": text()}]}
FILE = {"type": "object", "description": "A file as artifact.put gives it."}
NUMBER = {"type": "number"}
COUNT = {"type": "integer"}
NAMES = {"type": "array", "items": text()}

# area -> tool -> (function, title, arguments, needed ones, result)
Row = tuple[Callable[[State, State], Answer], str, dict[str, Any], tuple[str, ...], dict[str, Any]]
TOOLS: dict[str, dict[str, Row]] = {
    "mail": {
        "list": (mail_list, "List mails", {"unread": {"type": "boolean"}}, (), rows_of(**MAIL_ROW)),
        "read": (mail_read, "Read a mail", {"id": ID}, ("id",), one_of(**MAIL_ROW, text=text())),
        "send": (
            *(mail_send, "Send a mail", {"to": TO, "subject": text(), "text": text(), "attachment": FILE}),
            *(("to", "subject", "text"), one_of(id=text(), to=NAMES)),
        ),
    },
    "cal": {
        "list": (cal_list, "List the events of a day", {"day": DAY}, (), rows_of(**EVENT)),
        "move": (
            *(cal_move, "Move an event", {"id": ID, "day": DAY, "start": START, "was": WAS}),
            *(("id", "day", "start"), one_of(**EVENT)),
        ),
        "add": (
            *(cal_add, "Add an event", {"title": text(), "day": DAY, "start": START, "attendees": NAMES}),
            *(("title", "day", "start"), one_of(**EVENT)),
        ),
    },
    "notes": {
        "list": (notes_list, "List notes", {}, (), rows_of(id=text(), text=text())),
        "add": (notes_add, "Add a note", {"text": text()}, ("text",), one_of(id=text(), text=text())),
    },
    "svc": {
        "list": (svc_list, "List services", {}, (), rows_of(name=text(), state=text())),
        "status": (
            *(svc_status, "State of a service", {"name": text()}),
            *(("name",), one_of(name=text(), state=text(), detail=text())),
        ),
        "restart": (
            *(svc_restart, "Restart a service", {"name": text()}),
            *(("name",), one_of(name=text(), state=text(), restarts=COUNT)),
        ),
        "stop": (svc_stop, "Stop a service", {"name": text()}, ("name",), one_of(name=text(), state=text())),
    },
    "pkg": {
        "list": (
            *(pkg_list, "List updates that wait", {"security": {"type": "boolean"}}, ()),
            rows_of(name=text(), current=text(), available=text(), security={"type": "boolean"}),
        ),
        "upgrade": (
            *(pkg_upgrade, "Install security updates, or those named", {"names": NAMES}, ()),
            one_of(upgraded=NAMES, count=COUNT, up={"type": "boolean"}),
        ),
    },
    "metrics": {
        "read": (
            *(metrics_read, "Load, memory and disk now", {}, ()),
            one_of(cpu_percent=NUMBER, memory_percent=NUMBER, disk_percent=NUMBER, load=NUMBER),
        ),
    },
    "msg": {
        "send": (
            *(msg_send, "Send a message to a person", {"to": text(), "text": text()}),
            *(("to", "text"), one_of(id=text(), to=text())),
        ),
    },
    "loc": {"read": (loc_read, "Where the phone is", {}, (), one_of(place=text(), lat=NUMBER, lon=NUMBER))},
    "cam": {"shot": (cam_shot, "Take a picture", {"name": text()}, (), one_of(name=text(), sha256=text()))},
}


def listed(area: str) -> list[dict[str, Any]]:
    """Return the tools of an area as MCP lists them."""
    return [
        {
            "name": name,
            "title": title,
            "inputSchema": {"type": "object", "properties": args, "required": list(needed)},
            "outputSchema": result,
        }
        for name, (_, title, args, needed, result) in TOOLS[area].items()
    ]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: calls of several processes come one after the other."""
    with (folder / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def taken_s(profile: State, tool: str, number: int) -> float:
    """Return how long a call takes: the same for the same seed, device, tool and number."""
    draw = random.Random(f"{profile['seed']}/{profile['device']}/{tool}/{number}")  # noqa: S311 - a simulated time
    return float(min(LONGEST_S, MEDIAN_S * draw.lognormvariate(0.0, SPREAD) / float(profile["speed"])))


def noise_at(profile: State, noise: State, tool: str, number: int) -> str:
    """Return what is amiss with a call: `hard` (the tool is out of order), `transient`, `lying`, `slow` or nothing."""
    drawn_by = f"noise/{profile['seed']}/{noise.get('task')}/{profile['device']}/{tool}"
    if random.Random(drawn_by).random() < float(noise.get("hard", 0)):  # noqa: S311 - a simulated fault
        return "hard"
    left = random.Random(f"{drawn_by}/{number}").random()  # noqa: S311 - a simulated fault
    for kind in ("transient", "lying", "slow"):
        left -= float(noise.get(kind, 0))
        if left < 0:
            return kind
    return ""


def _write(path: Path, document: Any) -> None:
    half = path.with_name(path.name + ".part")
    half.write_text(json.dumps(document, indent=1, sort_keys=True))
    half.replace(path)


def call(area: str, folder: Path, tool: str, args: State, sleep: Callable[[float], None] = time.sleep) -> Answer:
    """Carry out one call and note it.

    Raises:
        Refused: the call cannot be carried out; it is noted as well.
    """
    function = TOOLS[area][tool][0]
    name = f"{area}.{tool}"
    with locked(folder):
        profile = json.loads((folder / PROFILE).read_text())
        calls = folder / CALLS
        lines = calls.read_text().splitlines() if calls.exists() else []
        number = sum(json.loads(line)["tool"] == name for line in lines) + 1
        noise = json.loads((folder / NOISE).read_text()) if (folder / NOISE).exists() else {}
        amiss = noise_at(profile, noise, name, number)
        path = folder / f"{area}.json"
        before = path.read_text()
        state = json.loads(before)
        answer, refused = {}, {"transient": MOMENT, "hard": FOR_GOOD}.get(amiss, "")
        if not refused:
            try:
                answer = function(state, args)
            except (Refused, KeyError, TypeError) as error:
                refused = str(error)
        # Only a call that changes something can lie: the answer is right, and nothing is done.
        lied = amiss == "lying" and not refused and state != json.loads(before)
        with calls.open("a") as out:
            line = {"n": number, "tool": name, "args": args, "at_ms": int(time.time() * 1000), "refused": refused}
            out.write(json.dumps({**line, "lied": lied}, sort_keys=True) + "\n")
        if not lied:
            _write(path, state)
    sleep(taken_s(profile, name, number) * (SLOW_TIMES if amiss == "slow" else 1))
    if refused:
        raise Refused(refused)
    return answer


def answered(area: str, folder: Path, params: State) -> Answer:
    """Return the result of `tools/call`."""
    name, args = str(params.get("name")), params.get("arguments") or {}
    if name not in TOOLS[area]:
        return {"isError": True, "content": [{"type": "text", "text": f"there is no tool {name}"}]}
    try:
        answer = call(area, folder, name, args)
    except Refused as refused:
        return {"isError": True, "content": [{"type": "text", "text": str(refused)}]}
    picture = answer.pop("picture", None)
    content: list[Answer] = [{"type": "text", "text": json.dumps(answer)}]
    if picture:
        content.append({"type": "image", "mimeType": "image/png", "data": picture})
    return {"content": content, "structuredContent": answer}


def serve(area: str, folder: Path) -> None:
    """Answer lines of JSON-RPC until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        method = message.get("method")
        if method == "initialize":
            about = {"name": f"nebula-{area}", "version": "1"}
            result: Answer = {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": about}
        elif method == "tools/list":
            result = {"tools": listed(area)}
        elif method == "tools/call":
            result = answered(area, folder, message["params"])
        else:
            result = {}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
