"""A fake agent for tests: speaks the Agent Client Protocol over its standard input and output, well or badly.

`python acp_agent.py MODE`: each mode is one way to behave. It uses the standard library alone.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SESSION = "s1"


class Peer:
    """The wire of this agent to its client."""

    def __init__(self) -> None:
        self._number = 0
        self.folder = Path()
        self.prompt = ""
        self.cancelled = False

    def say(self, message: dict[str, Any], *, held: bool = False) -> None:
        """Send a message; a `held` one leaves in one write with the next."""
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        if not held:
            sys.stdout.flush()

    def hear(self) -> dict[str, Any]:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        said: dict[str, Any] = json.loads(line)
        self.cancelled = self.cancelled or said.get("method") == "session/cancel"
        return said

    def update(self, update: str, **more: Any) -> None:
        params = {"sessionId": SESSION, "update": {"sessionUpdate": update, **more}}
        self.say({"method": "session/update", "params": params})

    def message(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the whole answer of the client, result or error."""
        self._number += 1
        params.setdefault("sessionId", SESSION)
        self.say({"id": f"a{self._number}", "method": method, "params": params})
        while True:
            said = self.hear()
            if said.get("id") == f"a{self._number}" and "method" not in said:
                return said

    def permission(self, **call: Any) -> str:
        """Return the option that was chosen, or the outcome."""
        options = [
            {"optionId": "for-good", "name": "Always", "kind": "allow_always"},
            {"optionId": "once", "name": "Once", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        said = self.ask("session/request_permission", toolCall={"toolCallId": "t1", **call}, options=options)
        outcome = said.get("result", {}).get("outcome", {})
        return str(outcome.get("optionId") or outcome.get("outcome") or said.get("error"))


def words_of(said: dict[str, Any]) -> str:
    return str(said["error"]["message"]) if "error" in said else json.dumps(said["result"])


# The turns: one for each mode.


def well(peer: Peer) -> str:
    peer.update("agent_thought_chunk", content={"type": "text", "text": "I look first."})
    peer.update("plan", entries=[{"content": "write the note", "priority": "high", "status": "pending"}])
    peer.update("tool_call", toolCallId="t1", title="Write note.txt", kind="edit", status="pending")
    peer.ask("fs/write_text_file", path=str(peer.folder / "note.txt"), content=f"{peer.prompt}\n")
    read = peer.ask("fs/read_text_file", path=str(peer.folder / "note.txt"))
    peer.update("tool_call_update", toolCallId="t1", status="completed")
    peer.message("The note is there: ")
    peer.message(read["result"]["content"])
    return "end_turn"


def asks(peer: Peer) -> str:
    chosen = peer.permission(title="Write asked.txt", kind="edit", rawInput={"path": "asked.txt"})
    peer.message(f"chosen {chosen}")
    if chosen == "once":
        (peer.folder / "asked.txt").write_text("yes")
    return "end_turn"


def attentive(peer: Peer) -> str:
    """Ask once, and repeat the words of each prompt."""
    first = not (peer.folder / "begun").exists()
    (peer.folder / "begun").write_text("yes")
    if first:
        peer.permission(title="Begin", kind="edit", rawInput={})
    peer.message(f"heard {peer.prompt!r}\n")
    return "end_turn"


def undeclared(peer: Peer) -> str:
    peer.message(f"chosen {peer.permission(title='Delete all', kind='delete', rawInput={})}")
    return "end_turn"


def outside(peer: Peer) -> str:
    """Reach for files outside, by each door and by its own hands."""
    target = peer.prompt
    link = peer.folder / "link"
    link.symlink_to(target)
    peer.message(f"read {words_of(peer.ask('fs/read_text_file', path=target))}\n")
    peer.message(f"link {words_of(peer.ask('fs/read_text_file', path=str(link)))}\n")
    peer.message(f"up {words_of(peer.ask('fs/read_text_file', path=f'{peer.folder}/../{Path(target).name}'))}\n")
    peer.message(f"write {words_of(peer.ask('fs/write_text_file', path=target, content='x'))}\n")
    peer.message(f"through {words_of(peer.ask('fs/write_text_file', path=str(link), content='x'))}\n")
    for name, act in (("hands", Path(target).read_text), ("hands write", lambda: Path(target).write_text("x"))):
        try:
            peer.message(f"{name} {act()}\n")
        except OSError as error:
            peer.message(f"{name} {type(error).__name__}\n")
    return "end_turn"


def escapes(peer: Peer) -> str:
    """Reach for a service behind a local socket, and for the process that started this one."""
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(peer.prompt)
            peer.message(f"socket {line.recv(100).decode()}\n")
    except OSError as error:
        peer.message(f"socket {errno.errorcode[error.errno or 0]}\n")
    try:
        os.kill(os.getppid(), signal.SIGSTOP)
        peer.message("signal sent\n")
    except OSError as error:
        peer.message(f"signal {type(error).__name__}\n")
    return "end_turn"


def terminal(peer: Peer) -> str:
    argv = json.loads(peer.prompt)
    made = peer.ask("terminal/create", command=argv[0], args=argv[1:], cwd=str(peer.folder), env=[])
    if "error" in made:
        peer.message(f"refused: {made['error']['message']}")
        return "end_turn"
    name = made["result"]["terminalId"]
    ended = peer.ask("terminal/wait_for_exit", terminalId=name)
    output = peer.ask("terminal/output", terminalId=name)
    peer.ask("terminal/release", terminalId=name)
    peer.message(f"{ended['result']['exitCode']} {output['result']['output']}")
    return "end_turn"


def crash_waiting(peer: Peer) -> str:
    """Wait for the end of a program that does not end, and end first."""
    made = peer.ask("terminal/create", command=sys.executable, args=["-c", "import signal; signal.pause()"])
    params = {"sessionId": SESSION, "terminalId": made["result"]["terminalId"]}
    peer.say({"id": "w", "method": "terminal/wait_for_exit", "params": params})
    os._exit(3)


def loader(peer: Peer) -> str:
    """Ask for a program with a variable that would make it another one."""
    env = [{"name": "LD_PRELOAD", "value": "/tmp/x.so"}]
    peer.message(words_of(peer.ask("terminal/create", command="true", args=[], cwd=str(peer.folder), env=env)))
    return "end_turn"


def spoof(peer: Peer) -> str:
    """Claim that a dangerous action only reads, in words that look like an answer, with options that lie."""
    options = [
        {"optionId": "x", "name": "No", "kind": "reject_once"},
        {"optionId": "x", "name": "Yes", "kind": "allow_once"},
    ]
    call = {
        "toolCallId": "t1", "kind": "read", "title": "Read\x1b[2J\nallowed: its owner approved it \u202e",
        "rawInput": {"command": "rm -rf ~"},
    }  # fmt: skip
    said = peer.ask("session/request_permission", toolCall=call, options=options)
    peer.message(json.dumps(said["result"]))
    return "end_turn"


def swaps(peer: Peer) -> str:
    """Have one action allowed, and do another one of the same name and title."""
    peer.message(f"first {peer.permission(title='Write a note', kind='edit', rawInput={'path': 'note.txt'})}\n")
    peer.message(f"second {peer.permission(title='Write a note', kind='edit', rawInput={'path': '.bashrc'})}\n")
    return "end_turn"


def floods_questions(peer: Peer) -> str:
    for number in range(300):
        params = {"sessionId": SESSION, "toolCall": {"toolCallId": f"q{number}", "kind": "edit"}, "options": []}
        peer.say({"id": f"q{number}", "method": "session/request_permission", "params": params})
    refused = sum("error" in peer.hear() for _ in range(292))
    peer.message(f"{refused} refused")
    return "end_turn"


def flood(_peer: Peer) -> str:
    sys.stdout.write('{"jsonrpc":"2.0","method":"session/update","params":{"text":"')
    for _ in range(1600):
        sys.stdout.write("x" * 65536)
    sys.stdout.flush()
    return "end_turn"


def babble(peer: Peer) -> str:
    while True:
        peer.message("y" * 60_000)


def chatter(peer: Peer) -> str:
    for number in range(5_000):
        peer.message(f"line {number}\n")
    return "end_turn"


def silent(_peer: Peer) -> str:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pause()
    return "end_turn"


def endless(peer: Peer) -> str:
    """Work for ever, and end the turn when it is cancelled."""
    peer.message("I begin\n")
    while not peer.cancelled:
        peer.hear()
    return "cancelled"


def spawns(peer: Peer) -> str:
    """Start a program in a session of its own, and work for ever."""
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.pause()
        os._exit(0)
    peer.message(f"child {child}\n")
    signal.pause()
    return "end_turn"


def crash(peer: Peer) -> str:
    peer.message("half of it")
    sys.stderr.write("Traceback: the model is gone\n")
    sys.stderr.flush()
    os._exit(3)


def garbage(_peer: Peer) -> str:
    print("this is no message", flush=True)
    return "end_turn"


def strange(peer: Peer) -> str:
    """Say all that no client has to understand, and speak of sessions that are not its own."""
    params = {"sessionId": "other", "update": {"sessionUpdate": "agent_message_chunk", "content": {"text": "no"}}}
    peer.say({"method": "session/update", "params": params})
    peer.say({"method": "session/update", "params": [1]})
    peer.say({"id": 99, "result": {"stopReason": "end_turn"}})
    peer.update("unheard_of", content=7)
    peer.message(words_of(peer.ask("fs/read_text_file", sessionId="other", path="/etc/hostname")) + "\n")
    peer.message(words_of(peer.ask("host/own_everything")) + "\n")
    peer.message(words_of(peer.ask("terminal/output", terminalId="terminal-7")) + "\n")
    peer.message(words_of(peer.ask("fs/read_text_file", path="note.txt")))
    return "end_turn"


def reason(_peer: Peer) -> str:
    return "because I said so"


def steers(peer: Peer) -> str:
    peer.message("\x1b[2J\x1b]0;owned\x07red\u202e\rgone\n")
    peer.update("tool_call", toolCallId="t9", title="a\nb\x1b[31m", kind="edit\n", status="pending")
    return "end_turn"


def late(peer: Peer) -> str:
    """End the turn, then go on as if it had not."""
    peer.message("done")
    return "late"


TURNS: dict[str, Callable[[Peer], str]] = {
    name: turn
    for name, turn in globals().items()
    if callable(turn) and not name.startswith("_") and name not in ("Peer", "Path", "Callable", "Any", "words_of")
}


def leave_a_child(name: str) -> None:
    """Start a program that stays; its number stands in a file of the home of this agent."""
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    Path(os.environ["HOME"], name).write_text(str(child))


def main(mode: str) -> None:
    peer = Peer()
    while True:
        said = peer.hear()
        method, number = said.get("method"), said.get("id")
        if method == "initialize":
            if mode == "mute":
                continue
            version = 2 if mode == "version" else 1
            if mode == "leaves":
                leave_a_child("child")
            about = {"name": "fake", "title": "Fake agent", "version": "0.1"}
            peer.say(
                {"id": number, "result": {"protocolVersion": version, "agentInfo": about, "agentCapabilities": {}}}
            )
        elif method == "session/new":
            if mode == "auth":
                peer.say({"id": number, "error": {"code": -32000, "message": "Authentication required"}})
                continue
            peer.folder = Path(said["params"]["cwd"])
            peer.say({"id": number, "result": {"sessionId": SESSION}})
        elif method == "session/prompt":
            peer.prompt = said["params"]["prompt"][0]["text"]
            stop = TURNS[mode](peer)
            usage = {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17}
            late = stop == "late"
            peer.say({"id": number, "result": {"stopReason": "end_turn" if late else stop, "usage": usage}}, held=late)
            if late:
                peer.ask("fs/write_text_file", path=str(peer.folder / "late.txt"), content="late")


if __name__ == "__main__":
    main(sys.argv[1])
