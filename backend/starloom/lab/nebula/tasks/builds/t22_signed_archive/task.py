"""Both servers have the same archive of the newest commit and the same true signature."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    for server in SERVERS:
        data = world.file(server, "site/shop.tar") or b""
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            files = {one.name.rpartition("/")[2]: tar.extractfile(one) for one in tar if one.isfile()}
            version = files["version"]
            yield (
                f"the newest on {server}",
                version is not None and version.read() == world.had("desk", "shop/version"),
                1,
            )
        yield f"all files on {server}", {"price.py", "cart.py", "test_price.py", "test_cart.py"} <= files.keys(), 1
        signed = world.text(server, "site/shop.tar.sha256")
        yield f"the signature on {server}", signed.split()[:1] == [hashlib.sha256(data).hexdigest()], 2
    same = [
        world.file("srv-a", path) == world.file("srv-b", path) for path in ("site/shop.tar", "site/shop.tar.sha256")
    ]
    yield "the same on both", all(same), 1
