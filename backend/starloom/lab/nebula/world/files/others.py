"""The files of two devices: the gpu with its training program, and the phone with its pictures and messages."""

from __future__ import annotations

import base64
import json
import shutil
from typing import Final

from starloom.lab.nebula.world.files.ground import Ground, png, program
from starloom.lab.nebula.world.files.servers import lay_metrics

PICTURES: Final = 60
SHARED: Final = 7
"""How many pictures of the phone are on the desk as well, under other names."""
SHOTS: Final = 5
BEST_LR: Final = 0.01
STEPS: Final = 20

TRAIN: Final = program("train")


def lay(ground: Ground) -> None:
    ground.write("gpu", "train.py", TRAIN)
    draw = ground.draw("data")
    for number in range(1, 9):
        ground.write("gpu", f"data/part-{number}.txt", "".join(f"{draw.random():.6f}\n" for _ in range(200)))
    lay_metrics(ground, "gpu", ground.draw("metrics gpu"))
    _phone(ground)


def _phone(ground: Ground) -> None:
    for number in range(1, PICTURES + 1):
        age_s = 3600.0 * (1 + PICTURES - number)
        data = png(ground.draw(f"picture {number}"))
        picture = ground.write("phone", f"DCIM/IMG_{number:04d}.png", data, age_s=age_s)
        if number <= SHARED:
            copy = ground.files("desk") / "Pictures" / f"from-phone-{number}.png"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(picture, copy)
    for number in range(1, 11):
        message = {"from": ("ann", "ben", "cyd")[number % 3], "text": f"Message {number}", "n": number}
        ground.write("phone", f"Messages/{number:02d}.json", json.dumps(message))
    draw = ground.draw("camera")
    shots = [base64.b64encode(png(ground.draw(f"shot {number}"))).decode() for number in range(SHOTS)]
    ground.set_state("phone", "cam", {"pictures": shots, "offset": draw.randrange(SHOTS)})
    ground.set_state("phone", "msg", {"sent": []})
    ground.set_state("phone", "loc", {"now": {"place": "home", "lat": 50.1, "lon": 8.7}})
