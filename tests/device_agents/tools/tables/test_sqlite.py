"""SQLite, read only and truly so: whatever is asked, the file stays what it was and nothing else is opened."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.interface import Folders, ToolFailed
from starloom_agent.tools.tables import sqlite
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device


@pytest.fixture
def shop(device: Device) -> Path:
    path = device.folder / "shop.sqlite"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT, cents INTEGER, picture BLOB)")
        made.execute('CREATE TABLE "odd "" name" (x)')
        rows = [(n, f"thing {n}", n * 100, bytes(n % 5)) for n in range(1, 301)]
        made.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    return path


def test_rows_come_back_with_their_names_and_a_bound(device: Device, shop: Path) -> None:
    found = device.call(
        "sqlite.query", path="shop.sqlite", sql="SELECT id, what, picture FROM orders WHERE id > ?", params=[298]
    )
    assert found["rows"] == [
        {"id": 299, "what": "thing 299", "picture": "(4 bytes)"},
        {"id": 300, "what": "thing 300", "picture": "(0 bytes)"},
    ]
    assert (found["count"], found["more"], found["columns"]) == (2, False, ["id", "what", "picture"])
    some = device.call("sqlite.query", path="shop.sqlite", sql="SELECT id AS n, cents AS n FROM orders", limit=3)
    assert (some["count"], some["more"], some["rows"][0]) == (3, True, {"n": 1, "n (2)": 100})


def test_an_examination_says_whether_it_is_whole_and_counts(device: Device, shop: Path) -> None:
    found = device.call("sqlite.query", path="shop.sqlite", device_name="vps")
    assert (found["ok"], found["problems"], found["total_rows"], found["device"]) == (True, [], 300, "vps")
    assert found["rows"] == [{"table": 'odd " name', "rows": 0}, {"table": "orders", "rows": 300}]
    data = bytearray(shop.read_bytes())
    data[4096 * 2 : 4096 * 3] = bytes(4096)
    ref = device.store.take(bytes(data), name="broken.sqlite")
    try:
        assert device.call("sqlite.query", files=[ref])["ok"] is False
    except ToolFailed as failed:
        assert "not a whole SQLite database" in failed.detail  # noqa: PT017 - either way it is told


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM orders",
        "UPDATE orders SET cents = 0",
        "INSERT INTO orders VALUES (1000, 'x', 1, NULL)",
        "DROP TABLE orders",
        "CREATE TABLE more (x)",
        "CREATE TEMP TABLE more (x)",
        "ATTACH DATABASE 'other.sqlite' AS other",
        "VACUUM INTO 'other.sqlite'",
        "VACUUM",
        "PRAGMA journal_mode = WAL",
        "PRAGMA writable_schema = ON",
        "PRAGMA query_only = OFF",
        "REINDEX",
        "BEGIN IMMEDIATE",
        "SELECT load_extension('x')",
        "WITH gone AS (SELECT 1) DELETE FROM orders",
        "SELECT 1; DELETE FROM orders",
        "",
    ],
)
def test_nothing_is_ever_written(device: Device, shop: Path, sql: str) -> None:
    before = hashlib.sha256(shop.read_bytes()).hexdigest()
    if sql:
        with pytest.raises(ToolFailed) as failed:
            device.call("sqlite.query", path="shop.sqlite", sql=sql)
        assert failed.value.code is Code.BAD_ARGUMENTS
        assert failed.value.effect is False
    else:
        device.call("sqlite.query", path="shop.sqlite")
    assert hashlib.sha256(shop.read_bytes()).hexdigest() == before
    assert [path.name for path in device.folder.iterdir()] == ["shop.sqlite"]


def test_a_database_with_a_log_that_nobody_has_open_is_read_as_it_lies(device: Device, shop: Path) -> None:
    with closing(sqlite3.connect(shop)) as made:
        made.execute("PRAGMA journal_mode = WAL")
    count: dict[str, Any] = {"sql": "SELECT count(*) AS n FROM orders", "path": "shop.sqlite"}
    asked: dict[str, Any] = {"path": "shop.sqlite", "granted": Folders.of(read=[str(device.folder)])}
    assert device.call("sqlite.query", **count)["rows"] == [{"n": 300}]
    assert device.call("sqlite.query", **asked)["ok"] is True
    assert device.call("sqlite.copy", **asked)["ok"] is True
    assert [path.name for path in device.folder.iterdir()] == ["shop.sqlite"]
    with closing(sqlite3.connect(shop)) as other:
        with other:
            other.execute("DELETE FROM orders WHERE id > 10")
        assert device.call("sqlite.query", **count)["rows"] == [{"n": 10}]


def test_a_cell_that_is_no_text_or_number_keeps_no_answer_back(device: Device, shop: Path) -> None:
    odd = "SELECT 9e999 AS endless, CAST(x'ff41' AS TEXT) AS torn, 1.5 AS plain"
    rows = device.call("sqlite.query", path="shop.sqlite", sql=odd)["rows"]
    assert rows == [{"endless": None, "torn": "\ufffdA", "plain": 1.5}]


def test_a_database_that_a_program_opens_meanwhile_is_read_again(
    device: Device, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(shop)) as made:
        made.execute("PRAGMA journal_mode = WAL")
    usual = sqlite._ask

    def asking(*args: Any) -> Any:
        with closing(sqlite3.connect(shop)) as other, other:
            other.execute("DELETE FROM orders")
        return usual(*args)

    monkeypatch.setattr(sqlite, "_ask", asking)
    with pytest.raises(ToolFailed, match="retry"):
        device.call("sqlite.query", path="shop.sqlite", sql="SELECT * FROM orders")


def test_what_tells_of_the_schema_may_be_asked(device: Device, shop: Path) -> None:
    found = device.call("sqlite.query", path="shop.sqlite", sql="PRAGMA table_info(orders)")
    assert [row["name"] for row in found["rows"]] == ["id", "what", "cents", "picture"]


def test_a_question_without_end_is_ended(device: Device, shop: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    with pytest.raises(ToolFailed, match="longer than it may") as failed:
        device.call("sqlite.query", path="shop.sqlite", sql=endless, timeout_s=0.2)
    assert failed.value.code is Code.TIMED_OUT
    big = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x, printf('%2000s', x) AS t FROM n"
    assert device.call("sqlite.query", path="shop.sqlite", sql=big, limit=1000)["more"] is True


def test_other_files_and_places_are_told_apart(device: Device) -> None:
    device.write("plain.txt", "no database " * 100)
    with pytest.raises(ToolFailed, match="not a whole SQLite database"):
        device.call("sqlite.query", path="plain.txt")
    with pytest.raises(ToolFailed, match="outside the folders"):
        device.call("sqlite.query", path="/etc/passwd")
    with pytest.raises(ToolFailed) as failed:
        device.call("sqlite.query", path="none.sqlite")
    assert failed.value.code is Code.FILE_NOT_FOUND
    with pytest.raises(ToolFailed, match="name the database"):
        device.call("sqlite.query")


def test_a_copy_is_of_one_moment_while_others_write(device: Device, shop: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(shop, timeout=30)) as other:
            other.execute("PRAGMA journal_mode = WAL")
            number = 1000
            while not stop.is_set():
                with other:
                    other.executemany("INSERT INTO orders VALUES (?, 'two', 1, NULL)", [(number,), (number + 1,)])
                number += 2

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found = device.call("sqlite.copy", path="shop.sqlite", name="monday.sqlite")
    finally:
        stop.set()
        writer.join()
    (file,) = found["files"]
    assert (found["ok"], file["name"]) == (True, "monday.sqlite")
    examined = device.call("sqlite.query", files=[file])
    assert examined["rows"] == found["tables"]
    counts = {row["table"]: row["rows"] for row in found["tables"]}
    assert counts["orders"] % 2 == 0, "both rows of a transaction or none"
