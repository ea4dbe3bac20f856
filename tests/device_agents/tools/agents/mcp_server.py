"""A small MCP server as a program of its own: `python mcp_server.py [MODE]`. Modes other than `well` misbehave."""

from __future__ import annotations

import json
import os
import signal
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

ECHO = {
    "name": "echo",
    "description": "Says it again\nand more",
    "inputSchema": {
        "type": "object",
        "properties": {"loud": {"type": "boolean"}, "text": {"type": "string"}, "class": {"type": "string"}},
        "required": ["text"],
    },
}
TOOLS = [
    ECHO,
    {"name": "fail", "title": "Fails", "inputSchema": {"type": "object"}},
    {"name": "invoice", "inputSchema": {"type": "object"}},
    {"name": "picture", "inputSchema": {"type": "object"}},
    {"name": "sleep", "inputSchema": {"type": "object"}},
    {"name": "no/name", "inputSchema": {"type": "object"}},
    {"name": "no_schema"},
]
PDF = b"%PDF-1.7 the invoice"
INVOICE: list[dict[str, Any]] = [
    {"type": "text", "text": "made"},
    {
        "type": "resource",
        "resource": {
            "uri": "bills://2026/no%2042.pdf?x=1#p",
            "mimeType": "application/pdf",
            "blob": b64encode(PDF).decode(),
        },
    },
    {"type": "resource", "resource": {"uri": "bills://7/", "mimeType": "application/pdf", "blob": ""}},
    {"type": "audio", "data": "AAEC", "mimeType": "text/csv; charset=utf-8"},
    {"type": "resource", "resource": {"uri": "bills://..%2f..%2f", "blob": "AAEC"}},
]
PROMISING = [
    {"name": "only_text", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}},
    {"name": "part", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "required": ["n", "rows"]}},
    {"name": "a_list", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}},
]


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def called(params: dict[str, Any]) -> dict[str, Any]:
    name, given = params["name"], params["arguments"]
    if name == "echo":
        text = {"type": "text", "text": f"{given['text']} {os.environ.get('TOKEN', '')}".strip()}
        return {"content": [text], "structuredContent": given}
    if name == "only_text":
        return {"content": [{"type": "text", "text": "three rows"}]}
    if name in ("part", "a_list"):
        return {"content": [], "structuredContent": {"n": 3} if name == "part" else [3]}
    if name == "picture":
        linked = {"type": "resource_link", "uri": "file:///x"}
        inner = {"type": "resource", "resource": {"uri": "x", "text": "inner"}}
        return {"content": [{"type": "image", "data": "AAEC", "mimeType": "image/png"}, linked, inner]}
    if name == "invoice":
        return {"content": [*INVOICE, *([{"type": "hologram", "rays": 3}] if given else [])]}
    if name == "open":
        return {"content": [{"type": "text", "text": json.dumps(given)}]}
    if name == "sleep":
        Path("pid").write_text(str(os.getpid()), encoding="ascii")
        signal.pause()
    return {"content": [{"type": "text", "text": "it went wrong"}], "isError": True}


def main(mode: str) -> None:
    if mode == "ends":
        return
    if mode == "silent":
        signal.pause()
    for line in sys.stdin:
        asked = json.loads(line)
        if mode == "garbage":
            print("Starting up ...", flush=True)
        if mode == "flood":
            sys.stdout.write("x" * (17 * 1024 * 1024))
        if "id" not in asked or "method" not in asked:
            continue
        if asked["method"] == "initialize":
            say({"id": asked["id"], "result": {"protocolVersion": asked["params"]["protocolVersion"]}})
        elif asked["method"] == "tools/list":
            say({"method": "notifications/message", "params": {}})
            for number, method in enumerate(("ping", "sampling/createMessage")):
                say({"id": f"s{number}", "method": method})
                answered = json.loads(sys.stdin.readline())
                if ("result" in answered) is not (method == "ping"):
                    raise SystemExit(3)
            at = int(asked["params"].get("cursor", 0))
            listed = PROMISING if mode == "promises" else TOOLS
            page: dict[str, Any] = {"tools": listed[at : at + 3]}
            say({"id": asked["id"], "result": page | ({"nextCursor": str(at + 3)} if at + 3 < len(listed) else {})})
        elif mode == "prints":
            print("looking ...", flush=True)
            say({"id": asked["id"], "result": called(asked["params"])})
        elif mode == "refuses":
            say({"id": asked["id"], "error": {"code": -32602, "message": "no such thing"}})
        else:
            say({"id": asked["id"], "result": called(asked["params"])})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "well")
