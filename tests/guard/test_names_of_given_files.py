"""T303: no name of a device, by which files are told apart, leads out of the folder of a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.text.look_alikes import called_fault
from tests.device_agents.tools.conftest import Device, device

__all__ = ["device"]
SAYS = "import json, os; json.dump(sorted(n for n in os.listdir('.') if n.endswith('p.sh')), open('result.json', 'w'))"


@pytest.mark.parametrize("origin", ["../../../../escape", "{root}/absolute", "..", ".", "/", "C:\\escape", "a/../../b"])
def test_t303_files_of_equal_names_stay_in_the_folder_of_their_program(
    device: Device, origin: str, tmp_path: Path
) -> None:
    of_agent = tmp_path / "site-packages"
    of_agent.mkdir()
    given = [
        {**device.store.take(b"import os", name="p.sh"), "device": name}
        for name in (origin.format(root=of_agent), "b", f"{of_agent}/c")
    ]
    found = device.call("python.run", code=SAYS, files=given)["value"]
    assert len(found) == 3, "the program misses a file"
    assert not [*of_agent.iterdir()]
    assert not [path for path in tmp_path.rglob("*p.sh") if path.name not in found]


def test_t303_a_name_that_is_nothing_but_an_origin_is_refused(device: Device) -> None:
    given = [{**device.store.take(b"1", name=name), "device": "a"} for name in ("..", "/")]
    with pytest.raises(ToolFailed, match="may not be named"):
        device.call("python.run", code=SAYS, files=given)


@pytest.mark.parametrize("name", ["../../escape", "a/b", "a\\b"])
def test_t303_no_device_is_called_by_a_path(name: str) -> None:
    assert "path" in (called_fault(name, most=63) or "")
