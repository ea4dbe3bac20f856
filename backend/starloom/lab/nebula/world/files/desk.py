"""The files of the desk: 40 texts, pictures, a git repository of 12 commits with tests, mail, calendar and notes."""

from __future__ import annotations

import shutil
import subprocess
from typing import Final

from starloom.lab.nebula.world.files.ground import Ground, png, program
from starloom.lab.nebula.world.files.servers import lay_packages

DEVICE: Final = "desk"
TEXTS: Final = 40
SUBJECTS: Final = ("budget", "travel", "garden", "review", "meeting", "recipe", "offer", "minutes", "plan", "letter")
ACME_UNTIL: Final = "2027-03-31"
ACME: Final = {
    "Documents/offer-07.txt": f"The contract with Acme runs until {ACME_UNTIL}. Renewal is to be asked for in time.",
    "Documents/minutes-18.txt": "Ann reported on the contract with Acme: the new prices hold for its whole term.",
    "Documents/letter-30.txt": "Please send the signed contract with Acme to our office, two copies.",
}
HOUR_S: Final = 3600.0
COMMITS: Final = 12
BROKEN_AT: Final = 8
AUTHOR: Final = "Nebula <nebula@example.org>"

PRICE: Final = program("price")
PRICE_BROKEN: Final = PRICE.replace("amount - amount", "amount + amount")
CART: Final = program("cart")
TEST_PRICE: Final = program("test_price")
TEST_CART: Final = program("test_cart")


def lay(ground: Ground) -> None:
    _texts(ground)
    ground.folder(DEVICE, "Reports")
    for number in range(1, 6):
        ground.write(DEVICE, f"Pictures/holiday-{number}.png", png(ground.draw(f"holiday {number}")))
    lay_shop(ground)
    _states(ground)


def _texts(ground: Ground) -> None:
    draw = ground.draw("texts")
    for number in range(1, TEXTS + 1):
        path = f"Documents/{SUBJECTS[(number - 1) % len(SUBJECTS)]}-{number:02d}.txt"
        words = " ".join(draw.choice(SUBJECTS) for _ in range(60))
        text = f"{path.rpartition('/')[2]}\n\n{words}.\n{ACME.get(path, '')}\n"
        ground.write(DEVICE, path, text, age_s=HOUR_S * (2 + draw.randrange(10) + 20 * (TEXTS - number)))


def lay_shop(ground: Ground, *, broken_at: int = 0) -> None:
    """Make `shop/`, a repository of 12 commits; from commit `broken_at` on `test_price` fails (0: never)."""
    folder = ground.folder(DEVICE, "shop")
    shutil.rmtree(folder)
    folder.mkdir()
    stream = "".join(_commit(ground, number, broken_at) for number in range(1, COMMITS + 1))
    _git(ground, ["init", "-q", "-b", "main"])
    _git(ground, ["config", "core.logAllRefUpdates", "false"])
    _git(ground, ["fast-import", "--quiet"], stream.encode())
    _git(ground, ["reset", "-q", "--hard", "main"])


def commit_nothing(ground: Ground, repository: str, message: str) -> None:
    """Add a commit without a change to a repository of the desk, for its message."""
    name, _, address = AUTHOR.rstrip(">").partition(" <")
    who = ["-c", f"user.name={name}", "-c", f"user.email={address}"]
    _git(ground, [*who, "commit", "-q", "--allow-empty", "-m", message], folder=repository)


def _commit(ground: Ground, number: int, broken_at: int) -> str:
    at_s = int(ground.facts.noon_s - HOUR_S * 24 * (COMMITS - number + 1))
    broken = broken_at and number >= broken_at
    files = {"README.md": f"# Shop\n\nRevision {number}.\n", "price.py": PRICE_BROKEN if broken else PRICE}
    files |= {"test_price.py": TEST_PRICE, "version": f"1.{number}.0\n"}
    if number > COMMITS // 3:
        files |= {"cart.py": CART, "test_cart.py": TEST_CART}
    message = f"Revision {number}\n"
    lines = [f"commit refs/heads/main\nauthor {AUTHOR} {at_s} +0000\ncommitter {AUTHOR} {at_s} +0000\n"]
    lines += [f"data {len(message)}\n{message}\ndeleteall\n"]
    lines += [f"M 100644 inline {name}\ndata {len(body)}\n{body}\n" for name, body in sorted(files.items())]
    return "".join(lines)


def _git(ground: Ground, words: list[str], stdin: bytes = b"", folder: str = "shop") -> None:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
    place = ground.files(DEVICE) / folder
    subprocess.run(["git", *words], cwd=place, input=stdin, env=environment, check=True, capture_output=True)


def _states(ground: Ground) -> None:
    asks = "Could you send me the invoice of last month?"
    rows = [
        ("ann@example.org", "Invoice, please", asks, True),
        ("ben@example.org", "Lunch", "Is noon fine?", True),
        (
            "cyd@example.org",
            "A question",
            "Where is the invoice for October? Please send it.",
            True,
        ),
        ("dan@example.org", "Invoice received", "Thank you, all is well.", True),
        ("eva@example.org", "Newsletter", "News of the week.", True),
        ("ann@example.org", "Earlier", asks, False),
    ]
    inbox = [
        {"id": f"m-{number}", "from": who, "subject": subject, "text": text, "unread": unread}
        for number, (who, subject, text, unread) in enumerate(rows, 1)
    ]
    ground.set_state(DEVICE, "mail", {"inbox": inbox, "sent": []})
    tomorrow = ground.facts.day_after(1)
    events = [("Dentist", "09:00", []), ("Review", "11:30", ["ann@example.org"]), ("Call Ben", "15:00", [])]
    calendar = [
        {"id": f"e-{number}", "title": title, "day": tomorrow, "start": start, "minutes": 60, "attendees": attendees}
        for number, (title, start, attendees) in enumerate(events, 1)
    ]
    ground.set_state(DEVICE, "cal", {"events": calendar})
    ground.set_state(DEVICE, "notes", {"notes": []})
    lay_packages(ground, DEVICE)
