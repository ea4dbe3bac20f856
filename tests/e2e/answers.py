"""Plans whose answers are of every kind: pictures, tables, pages, PDF, texts, changes, files, very many results."""

from __future__ import annotations

from typing import Any

from tests.e2e.stack import SERVER

_PNG = """
import struct, zlib
def chunk(kind, body): return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
def png(wide, high):
    rows = b"".join(
        b"\\0" + b"".join(bytes((x * 255 // wide, y * 255 // high, 120)) for x in range(wide)) for y in range(high))
    head = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
"""


def pdf(*objects: str) -> str:
    """Return a PDF of one page that says *Hello from a PDF*, with these further objects from number 5 on."""
    stream = "BT /F1 24 Tf 40 100 Td (Hello from a PDF) Tj ET"
    font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    found = [
        "<< /Type /Catalog /Pages 2 0 R" + (" /OpenAction 5 0 R" if objects else "") + " >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R /Resources {font} >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        *objects,
    ]
    text, places = "%PDF-1.7\n", []
    for number, body in enumerate(found, 1):
        places.append(len(text))
        text += f"{number} 0 obj\n{body}\nendobj\n"
    at = len(text)
    text += f"xref\n0 {len(found) + 1}\n0000000000 65535 f \n" + "".join(f"{place:010} 00000 n \n" for place in places)
    return text + f"trailer\n<< /Size {len(found) + 1} /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n"


def of_files(name: str, files: dict[str, str]) -> dict[str, Any]:
    """Return a plan that leaves these texts as files, each a part of the answer under its name."""
    code = f"import pathlib\nfor name, text in {files!r}.items(): pathlib.Path('out', name).write_text(text)"
    return _made(name, f"import os\nos.makedirs('out', exist_ok=True)\n{code}", sorted(files))


def of_a_picture(name: str) -> dict[str, Any]:
    """Return a plan that answers with a picture of 640 by 480."""
    code = f"{_PNG}\nimport os\nos.makedirs('out', exist_ok=True)\nopen('out/view.png', 'wb').write(png(640, 480))"
    return _made(name, code, ["view.png"])


def _made(name: str, code: str, files: list[str]) -> dict[str, Any]:
    # The files of a program are given in the order of their names.
    results = [
        {"title": file, "from": "make", "output": f"/files/{at}", "show": "file"} for at, file in enumerate(files)
    ]
    make = {"id": "make", "tool": "python.run", "args": {"code": code}, "device": {"name": SERVER}}
    return {"starloom": 1, "name": name, "tasks": [make], "result": results, "policy": {"approval": "never"}}


def of_values(name: str, values: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    """Return a plan that answers with these values, each by its title with how it is shown."""
    device = {"device": {"name": SERVER}}
    tasks, results = [], []
    for at, (title, (show, value)) in enumerate(values.items()):
        tasks.append({"id": f"v{at}", "tool": "lab.echo", "args": {"value": value}, **device})
        results.append({"title": title, "from": f"v{at}", "output": "/value", "show": show})
    return {"starloom": 1, "name": name, "tasks": tasks, "result": results}


def of_many(name: str, count: int) -> dict[str, Any]:
    """Return a plan without `result` that ends in a group of so many children."""
    device = {"device": {"name": SERVER}}
    first = {"id": "first", "tool": "lab.echo", "args": {"value": list(range(count))}, **device}
    second = {
        "id": "second",
        "tool": "lab.echo",
        "for_each": {"from": "first", "output": "/value"},
        "args": {"value": {"each": ""}},
        **device,
    }
    return {"starloom": 1, "name": name, "tasks": [first, second]}


def of_a_long_error(name: str, lines: int) -> dict[str, Any]:
    """Return a plan whose only task fails with so many lines on its error output."""
    code = f"import sys\nfor n in range({lines}): print('  row', n, file=sys.stderr)\nsys.exit(3)"
    fail = {"id": "fail", "tool": "python.run", "args": {"code": code}, "device": {"name": SERVER}}
    return {"starloom": 1, "name": name, "tasks": [fail], "policy": {"approval": "never"}}


def of_a_sweep(name: str, count: int, *, failing: int, partial: bool) -> dict[str, Any]:
    """Return a plan that answers with a table and runs so many programs, of which one fails."""
    device = {"device": {"name": SERVER}}
    codes = [f"raise ValueError({at})" if at == failing else f"print({at})" for at in range(count)]
    rows = {"id": "rows", "tool": "lab.echo", "args": {"value": [{"kind": "swept", "programs": count}]}, **device}
    first = {"id": "first", "tool": "lab.echo", "args": {"value": codes}, **device}
    run = {
        "id": "run",
        "tool": "python.run",
        "for_each": {"from": "first", "output": "/value"},
        "args": {"code": {"each": ""}},
        **device,
    }
    result = [{"title": "Sweep", "from": "rows", "output": "/value", "show": "table"}]
    policy = {"approval": "never", "partial": partial}
    return {"starloom": 1, "name": name, "tasks": [rows, first, run], "result": result, "policy": policy}
