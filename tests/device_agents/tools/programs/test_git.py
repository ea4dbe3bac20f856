"""The git tools on real repositories, in the cage of this machine: results, new files, and hooks that never run."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent.sandbox.levels import UNCONFINED
from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.tools.programs import git as git_tools
from starloom_agent.tools.programs.git import TOOLS
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code
from tests.device_agents.sandbox.tried import SANDBOX
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.results import faults
from tests.served import Quiet, Served
from tests.waiting import PATIENCE_S

Git = Callable[..., Any]


def git(folder: Path, *argv: str) -> str:
    who = {
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "Ann",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    own = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    ran = subprocess.run(
        ["git", *argv], cwd=folder, env=own, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    return ran.stdout.strip()


@pytest.fixture
def repository(device: Device) -> Path:
    folder = device.folder / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    device.write("shop/app.py", "print('one')\n")
    device.write("shop/a name.txt", "x\n")
    device.write("shop/.gitignore", "build/\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "First")
    device.write("shop/app.py", "print('two')\n")
    git(folder, "commit", "-q", "-a", "-m", "Second: it counts")
    git(folder, "tag", "v1", "HEAD~1")
    return folder


@pytest.fixture(params=["cage", UNCONFINED])
def call(device: Device, request: pytest.FixtureRequest) -> Git:
    layer = SANDBOX.layer if request.param == "cage" else UNCONFINED
    tools = {tool.name: tool for tool in TOOLS}

    def called(name: str, *, hosts: tuple[str, ...] = (), **args: Any) -> Any:
        context = replace(device.context(hosts=hosts), cage=str(layer or ""))
        tool = tools[name]
        value = parse(canonical(tool.run(context, msgspec.convert(args, tool.args))))
        assert faults(name, value) == []
        return value

    return called


def test_the_state_of_a_working_copy(call: Git, device: Device, repository: Path) -> None:
    found = call("git.status", path="shop", device_name="laptop")
    assert (found["branch"], found["clean"], found["rows"]) == ("main", True, [])
    assert (found["commit"], found["device"]) == (git(repository, "rev-parse", "HEAD"), "laptop")
    device.write("shop/app.py", "changed\n")
    device.write("shop/new one.txt", "new\n")
    device.write("shop/build/out", "ignored")
    git(repository, "mv", "a name.txt", "another name.txt")
    rows = {row["path"]: row["state"] for row in call("git.status", path="shop")["rows"]}
    assert rows == {"app.py": "changed", "new one.txt": "new", "another name.txt": "renamed"}


def test_the_last_versions(call: Git, repository: Path) -> None:
    found = call("git.log", path="shop")
    assert [row["subject"] for row in found["rows"]] == ["Second: it counts", "First"]
    assert found["rows"][0]["commit"] == git(repository, "rev-parse", "HEAD")
    assert call("git.log", path="shop", ref="v1")["count"] == 1
    assert call("git.log", path="shop", below="a name.txt")["count"] == 1


def test_an_answer_of_which_a_part_is_missing_is_refused(
    call: Git, device: Device, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_tools, "_OUT_BYTES", 400)
    for number in range(40):
        device.write(f"shop/made-{number}.txt", "x")
    for name, told in (("git.status", ".gitignore"), ("git.archive", "name a version")):
        with pytest.raises(ToolFailed, match=told) as failed:
            call(name, path="shop")
        assert failed.value.code is Code.OUTPUT_TOO_BIG
    for number in range(6):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"Nothing new, {number}")
    with pytest.raises(ToolFailed, match="`limit`"):
        call("git.log", path="shop")
    assert call("git.log", path="shop", limit=1)["count"] == 1


def test_a_version_and_the_working_copy_as_one_file(call: Git, device: Device, repository: Path) -> None:
    device.write("shop/app.py", "print('three')\n")
    device.write("shop/build/out", "ignored")
    (repository / "link").symlink_to("/etc/passwd")

    def packed(**args: Any) -> dict[str, bytes]:
        found = call("git.archive", path="shop", **args)
        with tarfile.open(fileobj=io.BytesIO(device.store.read(found["files"][0]))) as archive:
            members = [member for member in archive if member.isfile()]
            return {member.name: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]

    assert packed(ref="v1")["app.py"] == b"print('one')\n"
    assert packed() == {"app.py": b"print('three')\n", "a name.txt": b"x\n", ".gitignore": b"build/\n"}


def test_a_name_that_is_no_text_is_packed_as_the_others(call: Git, device: Device, repository: Path) -> None:
    (repository / os.fsdecode(b"M\xfcller.txt")).write_text("b")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "Latin")
    counts = [call("git.archive", path="shop", **args)["count"] for args in ({}, {"ref": "HEAD"})]
    assert counts == [4, 4]


def test_archives_of_versions_have_names_of_their_own(call: Git, repository: Path) -> None:
    found = call("git.archive", path="shop", ref="HEAD")
    assert found["files"][0]["name"] == f"shop-{found['commit'][:12]}.tar"
    assert call("git.archive", path="shop")["files"][0]["name"] == "shop.tar"


def test_a_folder_becomes_a_working_copy_once(call: Git, repository: Path, device: Device) -> None:
    first = call("git.clone", source="folder", path="shop", to="copies/shop", ref="main")
    assert (first["state"], first["commit"]) == ("made", git(repository, "rev-parse", "HEAD"))
    assert (device.folder / "copies/shop/app.py").read_text() == "print('two')\n"
    assert call("git.clone", source="folder", path="shop", to="copies/shop")["state"] == "kept"
    assert [path.name for path in (device.folder / "copies").iterdir()] == ["shop"]
    with pytest.raises(ToolFailed, match="something else in it"):
        call("git.clone", source="folder", path="shop", to="copies/shop", ref="v1")


def test_a_branch_and_an_annotated_tag_are_kept_by_their_whole_name(call: Git, repository: Path) -> None:
    git(repository, "branch", "feature/main", "HEAD~1")
    git(repository, "tag", "-a", "-m", "Released", "v2", "HEAD~1")
    for ref, commit in (("main", "HEAD"), ("v2", "HEAD~1")):
        for state in ("made", "kept"):
            copied = call("git.clone", source="folder", path="shop", to=f"copies/{ref}", ref=ref)
            assert (copied["state"], copied["commit"]) == (state, git(repository, "rev-parse", commit))


def test_a_branch_that_is_not_there_is_answered_with_the_names_that_are(call: Git, repository: Path) -> None:
    git(repository, "tag", "-a", "-m", "Released", "v2")
    with pytest.raises(ToolFailed) as failed:
        call("git.clone", source="folder", path="shop", to="copy", ref="mian")
    reason = "'mian' is no branch or tag of shop; there is 'main', 'v1', 'v2'"
    assert (failed.value.code, failed.value.detail) == (Code.BAD_ARGUMENTS, reason)


def test_a_repository_without_a_version_is_not_copied(call: Git, device: Device) -> None:
    (device.folder / "empty").mkdir()
    git(device.folder / "empty", "init", "-q")
    with pytest.raises(ToolFailed, match="empty has no version; there is none"):
        call("git.clone", source="folder", path="empty", to="copy")


def test_a_bundle_becomes_a_working_copy(call: Git, repository: Path, device: Device) -> None:
    git(repository, "bundle", "create", "-q", str(device.workdir.parent / "shop.bundle"), "HEAD", "main")
    ref = device.store.take((device.workdir.parent / "shop.bundle").read_bytes(), name="shop.bundle")
    found = call("git.clone", source="bundle", files=[ref], to="from-bundle", ref="main")
    assert found["state"] == "made"
    assert (device.folder / "from-bundle/app.py").read_text() == "print('two')\n"


class QuietFiles(Quiet, SimpleHTTPRequestHandler):
    """Serves a folder."""


@pytest.fixture
def served(repository: Path, tmp_path: Path) -> Iterator[str]:
    bare = tmp_path / "site/shop.git"
    bare.parent.mkdir()
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    git(bare, "update-server-info")

    with Served(partial(QuietFiles, directory=str(bare.parent))) as site:
        yield f"{site.url}/shop.git"


def test_an_address_is_fetched_from_listed_hosts_alone(call: Git, served: str, device: Device) -> None:
    with pytest.raises(ToolFailed, match="starloom-agent grant net:reach"):
        call("git.clone", source="address", url=served, to="net")
    found = call("git.clone", source="address", url=served, to="net", hosts=("127.0.0.1",))
    assert found["state"] == "made"
    assert (device.folder / "net/app.py").read_text() == "print('two')\n"
    assert git(device.folder / "net", "remote", "get-url", "origin") == served


@pytest.mark.parametrize("url", ["file:///etc", "ssh://h/x", "ext::sh -c id", "https://u:p@h/x", "", "http://[x"])
def test_addresses_of_other_kinds_are_refused(device: Device, url: str) -> None:
    with pytest.raises(ToolFailed, match="no http"):
        device.call("git.clone", source="address", url=url, to="x", hosts=("*",))


@pytest.mark.parametrize("name", ["git.status", "git.log", "git.archive"])
def test_what_is_no_repository_is_said_plainly(call: Git, device: Device, name: str) -> None:
    (device.folder / "plain").mkdir()
    with pytest.raises(ToolFailed, match="no git repository") as failed:
        call(name, path="plain")
    assert failed.value.code is Code.BAD_ARGUMENTS
    with pytest.raises(ToolFailed) as missing:
        call(name, path="nowhere")
    assert missing.value.code is Code.FILE_NOT_FOUND
    with pytest.raises(ToolFailed, match="outside the folders"):
        call(name, path="/etc")


@pytest.mark.parametrize("ref", ["--upload-pack=id", "-x", "a b", "a\nb"])
def test_a_version_is_never_an_option(ref: str) -> None:
    args = next(tool.args for tool in TOOLS if tool.name == "git.log")
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"path": "x", "ref": ref}, args)


def test_programs_that_a_repository_names_run_in_the_cage_or_not_at_all(device: Device, repository: Path) -> None:
    caught = device.folder.parent / "caught"
    device.write("shop/.gitattributes", "*.py filter=evil\n")
    git(repository, "config", "filter.evil.clean", f"touch {caught}; cat")
    git(repository, "config", "core.fsmonitor", f"touch {caught}")
    hook = device.write("shop/.git/hooks/post-checkout", f"#!/bin/sh\ntouch {caught}\n")
    hook.chmod(0o755)
    device.write("shop/app.py", "changed again\n")
    assert SANDBOX.layer is not None, SANDBOX.reason
    context = replace(device.context(), cage=str(SANDBOX.layer))
    tools = {tool.name: tool for tool in TOOLS}
    found = tools["git.status"].run(context, msgspec.convert({"path": "shop"}, tools["git.status"].args))
    assert {"path": "app.py", "state": "changed"} in found["rows"]
    clone = {"source": "folder", "path": "shop", "to": "copy"}
    tools["git.clone"].run(context, msgspec.convert(clone, tools["git.clone"].args))
    assert not caught.exists()
    plainly = replace(device.context(), cage="")
    with pytest.raises(ToolFailed, match="no sandbox for git"):
        tools["git.status"].run(plainly, msgspec.convert({"path": "shop"}, tools["git.status"].args))


def test_a_version_that_is_not_there_is_answered_with_the_names_that_are(device: Device, repository: Path) -> None:
    with pytest.raises(ToolFailed) as failed:
        device.call("git.archive", path="shop", ref="release")
    reason = "'release' is no branch, tag or commit of shop; there is 'HEAD', 'main', 'v1'"
    assert (failed.value.code, failed.value.detail) == (Code.BAD_ARGUMENTS, reason)
