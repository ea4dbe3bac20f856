"""The files of two servers: sales, logs, a site, a configuration, a database of orders, backups, services and packages.

They differ on purpose: `srv-b` writes sales as Germans do, has one other line of configuration, a burst of database
errors from ten o'clock on, and a damaged newest backup.
"""

from __future__ import annotations

import gzip
import io
import random
import sqlite3
import tarfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Final

from starloom.lab.nebula.world.devices import SERVERS
from starloom.lab.nebula.world.files.ground import Ground

LOG_LINES: Final = 10_000
LOG_HOURS: Final = 36
SERVICES: Final = ("web", "db", "cache", "auth", "jobs")
REGIONS: Final = ("north", "south", "east", "west")
CUSTOMERS: Final = 60
ORDERS: Final = 5000
MONTHS: Final = ("2026-07", "2026-08", "2026-09")
SALES_ROWS: Final = 120
HEAD: Final = {"srv-a": "date,region,customer,amount", "srv-b": "Datum;Region;Kunde;Betrag"}
BURST_FROM_H: Final = 2.0
"""Hours before noon at which the burst of errors on srv-b begins."""
FINE: Final = ("request served", "session opened", "cache warmed", "job done", "login of a user")
FAULTS: Final = ("connection refused", "queue is full", "no such key", "token expired")


def lay(ground: Ground) -> None:
    for server in SERVERS:
        _sales(ground, server)
        _app_log(ground, server)
        _access_log(ground, server)
        _site(ground, server)
        _states(ground, server)
    lines = [f"{moment(ground, 60.0 * n)} INFO jobs run {n} from 10.0.9.{n % 250 + 1}\n" for n in range(200, 0, -1)]
    ground.write("srv-b", "logs/worker.log", "".join(lines))
    ground.write("srv-a", "orders.db", orders_db(ground, ORDERS))
    draw = ground.draw("regions")
    rows = "".join(f"c{number:03d},{draw.choice(REGIONS)}\n" for number in range(1, CUSTOMERS + 1))
    ground.write("srv-b", "regions.csv", "customer,region\n" + rows)
    _backups(ground)


def moment(ground: Ground, age_s: float) -> str:
    """Return the time of a log line that is `age_s` old."""
    return datetime.fromtimestamp(ground.facts.noon_s - age_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _sales(ground: Ground, server: str) -> None:
    draw = ground.draw(f"sales {server}")
    for month in MONTHS:
        lines = [HEAD[server]]
        for _ in range(SALES_ROWS):
            day = f"{month}-{draw.randrange(1, 29):02d}"
            region, customer = draw.choice(REGIONS), f"c{draw.randrange(1, CUSTOMERS + 1):03d}"
            cents = draw.randrange(500, 250_000)
            if server == "srv-a":
                lines.append(f"{day},{region},{customer},{cents // 100}.{cents % 100:02d}")
            else:
                lines.append(f"{day};{region};{customer};{cents // 100},{cents % 100:02d}")
        ground.write(server, f"sales/{month}.csv", "\n".join(lines) + "\n", age_s=86_400.0)


def _app_log(ground: Ground, server: str) -> None:
    draw = ground.draw(f"app log {server}")
    ages = sorted((draw.random() * LOG_HOURS * 3600 for _ in range(LOG_LINES)), reverse=True)
    lines: list[str] = []
    for age_s in ages:
        service = draw.choice(SERVICES)
        at = moment(ground, age_s)
        if server == "srv-b" and age_s < BURST_FROM_H * 3600 and draw.random() < 0.2:
            lines.append(f"{at} ERROR db timeout after {draw.randrange(2000, 9000)} ms conn=7")
        elif draw.random() < 0.004:
            lines.append(f"{at} ERROR {service} {draw.choice(FAULTS)} from 10.0.1.{draw.randrange(1, 250)}")
        else:
            level = "WARN" if draw.random() < 0.02 else "INFO"
            lines.append(f"{at} {level} {service} {draw.choice(FINE)} from 10.0.2.{draw.randrange(1, 250)}")
    ground.write(server, "logs/app.log", "\n".join(lines) + "\n", age_s=0.0)


def _access_log(ground: Ground, server: str) -> None:
    draw = ground.draw(f"access log {server}")
    middle = 90 if server == "srv-a" else 140
    ages = sorted((draw.random() * LOG_HOURS * 3600 for _ in range(LOG_LINES)), reverse=True)
    start = datetime.fromtimestamp(ground.facts.noon_s, UTC)
    lines: list[str] = []
    for age_s in ages:
        at = (start - timedelta(seconds=age_s)).strftime("%d/%b/%Y:%H:%M:%S +0000")
        status = 500 if draw.random() < 0.003 else 200
        took_ms = round(middle * draw.lognormvariate(0.0, 0.6))
        page = draw.choice(("/", "/cart", "/item", "/search"))
        host = f"10.0.3.{draw.randrange(1, 250)}"
        size = draw.randrange(300, 9000)
        lines.append(f'{host} - - [{at}] "GET {page} HTTP/1.1" {status} {size} {took_ms}')
    ground.write(server, "logs/access.log", "\n".join(lines) + "\n", age_s=0.0)


def _site(ground: Ground, server: str) -> None:
    ground.write(server, "site/index.html", "<html><title>Shop</title><body><h1>Shop</h1></body></html>\n")
    ground.write(server, "site/version", "1.11.0\n")
    port = ground.facts.sites.get(server, ("", ""))[0].rpartition(":")[2] or "0"
    pool = 20 if server == "srv-a" else 5
    conf = f"[shop]\nport = {port}\nworkers = 4\ndb_pool = {pool}\ncache_ttl_s = 300\nlog_level = info\n"
    ground.write(server, "etc/shop.conf", conf)


def orders_db(ground: Ground, count: int, part: str = "orders") -> bytes:
    """Return a SQLite database with a table of orders."""
    draw = ground.draw(part)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, cents INTEGER, placed TEXT)")
        database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", (_order(draw, n) for n in range(1, count + 1)))
        database.execute("CREATE INDEX orders_customer ON orders (customer)")
        database.commit()
        return bytes(database.serialize())


def _order(draw: random.Random, number: int) -> tuple[int, str, int, str]:
    # Squared, so that some customers order much more often than others and a top ten has no ties by chance.
    customer = f"c{int(draw.random() ** 2 * CUSTOMERS) + 1:03d}"
    placed = f"{draw.choice(MONTHS)}-{draw.randrange(1, 29):02d}"
    return number, customer, draw.randrange(500, 50_000), placed


def archive(files: dict[str, bytes], at_s: float) -> bytes:
    """Return a tar.gz of these files whose bytes depend on nothing else."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for name, data in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), int(at_s)
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(plain.getvalue(), mtime=int(at_s))


def _backups(ground: Ground) -> None:
    """Three backups of the orders, one a day; the newest is cut in its middle."""
    for days, count in ((3, 1200), (2, 1300), (1, 1400)):
        at_s = ground.facts.noon_s - days * 86_400
        data = archive({"orders.db": orders_db(ground, count, "backup")}, at_s)
        whole = data if days > 1 else data[: len(data) // 2]
        ground.write("srv-b", f"backups/orders-{ground.facts.day_after(-days)}.tar.gz", whole, age_s=days * 86_400)


def _states(ground: Ground, server: str) -> None:
    draw = ground.draw(f"state {server}")
    lay_packages(ground, server)
    states = {name: {"state": "running", "restarts": 0} for name in ("shop", "db", "cache", "mailer")}
    ground.set_state(server, "svc", {"services": states})
    lay_metrics(ground, server, draw)


def lay_packages(ground: Ground, device: str, *, breaks: bool = False) -> None:
    """Lay packages out, two of which have a security update; where it `breaks`, the device is down after it."""
    packages = [
        {"name": name, "current": "1.0", "available": available, "security": security}
        for name, available, security in (
            *(("openssl", "1.1", True), ("libxml", "1.2", True), ("editor", "2.0", False), ("kernel", "1.0", False)),
        )
    ]
    ground.set_state(device, "pkg", {"packages": packages, "up": True, "breaks": breaks})


def lay_metrics(ground: Ground, device: str, draw: random.Random) -> None:
    now = {name: round(5 + draw.random() * 80, 1) for name in ("cpu_percent", "memory_percent", "disk_percent")}
    ground.set_state(device, "metrics", {"now": {**now, "load": round(draw.random() * 4, 2)}})
