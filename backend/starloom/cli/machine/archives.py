"""Commands for the archive of a hub's data: `backup`, and `restore` with what it says about rights."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starloom.cli.invocation import Invocation, hub_command
from starloom.cli.machine.service import HomeOption
from starloom.client.problems import usage
from starloom.client.terminal.escaping import tell
from starloom.client.terminal.style import clock
from starloom.client.terminal.typed import say, typed
from starloom_protocol.text.wording import counted, size_words
from starloom_protocol.vocabulary import ScheduleState

if TYPE_CHECKING:
    from starloom.host.backup import Archive, Restored
    from starloom.process.settings import Settings

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The archive.")]


def register(app: typer.Typer) -> None:
    hub_command(app, "backup")(backup)
    hub_command(app, "restore")(restore)


def backup(run: Invocation, file: FileArgument, home: HomeOption = None) -> None:
    """Write history, keys and files of this computer's hub into one archive; the service may run meanwhile."""
    from starloom.host.backup import back_up
    from starloom.host.supervisor import home_of_the_hub

    archive = back_up(_settings(home or home_of_the_hub(run.hub)), file)
    if run.as_json:
        run.emit(_figures(archive))
        return
    _tell_archive(f"wrote {file}", archive)
    print("It holds the hub's keys: keep it where you keep other keys.")
    print("The sum shows on another computer that nobody has altered it: keep that elsewhere.")


def restore(
    run: Invocation,
    file: FileArgument,
    home: HomeOption = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Move the history that is there aside; who was revoked stays revoked.")
    ] = False,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="FOLDER", help="The history until now is elsewhere: its data folder or URL."),
    ] = None,
    known_sum: Annotated[
        str | None,
        typer.Option("--sum", metavar="SUM", help="Take the archive only with this sum."),
    ] = None,
) -> None:
    """Restore an archive into a data folder; `starloom up` continues from there."""
    from starloom.host.backup import restore as put_back
    from starloom.host.supervisor import holding, home_of_the_folder, remember

    settings = _settings(home or home_of_the_folder())
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with holding(settings.home):
        restored = put_back(settings, file, replace=replace, until=until, known_sum=known_sum)
        remember(settings.home)
    ended, kept = list(_ended_rights(restored)), list(_kept_rights(restored))
    if run.as_json:
        until_now = restored.until.place if restored.until.shard is not None else None
        rights = {"ended": [right for right, _ in ended], "held": [row for row, _ in kept], "until": until_now}
        aside, laid = str(restored.aside) if restored.aside else None, restored.settings
        places = {"aside": aside, "left_out": list(laid.left_out), "place": restored.place}
        run.emit({**_figures(restored.archive), **places, "rights": rights})
        return
    _tell_archive(f"restored {settings.home}", restored.archive)
    say(f"The history is in {restored.place}.")
    if left := restored.settings.left_out:
        say(f"The starloom.toml of the backup names other places than this restore: {', '.join(left)}.")
        say("Those lines are comments now, so that the restored hub does not run on the database of another one.")
    if restored.settings.beside is not None:
        say(f"The starloom.toml here stays; the one of the backup is {restored.settings.beside}.")
    if restored.aside is not None:
        print(f"The history and the files until now are in {restored.aside}.")
        print("They hold what the hub knew: keep or delete them as such.")
    _tell_rights(restored, [line for _, line in ended], [line for _, line in kept])


def _settings(home: Path | None) -> Settings:
    from starloom.process.settings import SettingsInvalid, load

    try:
        return load({"home": home} if home is not None else {}).settings
    except SettingsInvalid as invalid:
        raise usage("; ".join(invalid.faults), "Correct the named variable or line.") from invalid


def _figures(archive: Archive) -> dict[str, Any]:
    manifest = archive.manifest
    rows = sum(table.rows for table in manifest.dump.tables)
    figures = {"commits": manifest.dump.watermark, "rows": rows, "files": len(manifest.files)}
    figures |= {"bytes": manifest.bytes, "made_ms": manifest.made_ms}
    return {**figures, "schema": manifest.dump.schema, "sum": archive.sum}


def _tell_archive(deed: str, archive: Archive) -> None:
    """Print the content of an archive and its sum."""
    manifest = archive.manifest
    files = f"{counted(len(manifest.files), 'file')} of {size_words(manifest.bytes)}"
    print(f"{deed}: {counted(manifest.dump.watermark, 'commit')}, {files}, sum {archive.sum}")


def _tell_rights(restored: Restored, ended: list[str], kept: list[str]) -> None:
    """Say which rights of the backup end at the first start and, where nobody knows who was revoked, who has others."""
    if restored.until.shard is not None:
        say("Who was revoked since the backup stays revoked. These rights of the backup end at the first start:")
        for line in ended or ["  none: nobody was revoked since"]:
            tell(line)
        return
    say(f"The history until now was not read: {restored.until.why}.")
    say("So it is not known who was revoked since the backup.")
    say("If others could write to the file, compare its sum with the one that `starloom backup` printed.")
    say("All sessions of the page, invitations and join codes of the backup end at the first start; `starloom open`")
    say(
        "signs you in again. These have rights as in the backup. As soon as the hub runs, a line beside each ends them:"
    )
    for line in kept or ["  nobody"]:
        tell(line)


def _ended_rights(restored: Restored) -> Iterator[tuple[dict[str, str], str]]:
    """Yield each right of the backup that ends, as a row and as a line."""
    access, fleet, ended = restored.backup.access, restored.backup.fleet, restored.ended
    for name in ended.tokens:
        token = access.tokens[name]
        kind = "token" if token.kind == "bearer" else token.kind
        principal = access.principals.get(token.principal)
        owner = principal.name if principal is not None else "nobody"
        yield {"what": kind, "id": name, "name": owner}, f"  {kind:<11} {owner}  {token.label}".rstrip()
    for name, role in ended.roles.items():
        owner = access.principals[name].name
        yield {"what": "role", "id": name, "name": owner}, f"  role        {owner} is {role}"
    for name, how in ended.devices.items():
        device = fleet.devices[name]
        yield {"what": "device", "id": name, "name": device.name}, f"  device      {device.name}, which {_reason(how)}"
    for name in ended.reserved:
        device = fleet.devices[name]
        yield (
            {"what": "reserved", "id": name, "name": device.name},
            f"  reserved    {device.name} takes only work that names it",
        )
    for name in ended.schedules:
        called = fleet.schedules[name].name
        yield {"what": "schedule", "id": name, "name": called}, f"  schedule    {called} is paused"
    for name, left in ended.secrets.items():
        how = "had been removed" if left is None else "is kept from those that may no longer receive it"
        yield {"what": "secret", "id": name, "name": name}, f"  secret      {name}, which {how}"
    for name in ended.standing:
        tool = fleet.standing[name].tool
        yield {"what": "permission", "id": name, "name": tool}, f"  permission  {tool}, which had been allowed for good"
    for name in ended.enrollments:
        yield {"what": "join code", "id": name, "name": ""}, "  join code"


def _reason(how: str) -> str:
    words = {"left": "has left", "unknown": "the history until now does not know"}
    return words.get(how, "was revoked")


def _kept_rights(restored: Restored) -> Iterator[tuple[dict[str, str], str]]:
    """Yield what keeps its rights or acts without a question, as a row and as a line with the command that ends it."""
    from starloom.core.rights.restored_rights import holders

    kept = holders(restored.backup, restored.ended, int(time.time() * 1000))
    for token, below in kept.tokens:
        principal = restored.backup.access.principals[token.principal]
        line = f"starloom token revoke {token.id}"
        also = f", and {counted(below, 'token')} made with it" if below else ""
        owner = f"{principal.name} ({principal.kind}, {token.role})"
        since = f"since {clock(token.created_ms)}"
        row = {"what": "token", "id": token.id, "name": principal.name, "role": str(token.role), "line": line}
        yield row, f"  {owner:<34} {token.label or 'token'} {since}{also}: {typed(line)}"
    for device in kept.devices:
        line = f"starloom device revoke {shlex.quote(device.name)}"
        row = {"what": "device", "id": device.id, "name": device.name, "role": str(device.profile), "line": line}
        yield row, f"  {f'device {device.name} ({device.profile})':<34} since {clock(device.joined_ms)}: {typed(line)}"
    for permission in restored.backup.fleet.standing.values():
        line = f"starloom approvals --revoke {permission.id}"
        row = {"what": "permission", "id": permission.id, "name": permission.tool, "line": line}
        yield row, f"  {f'{permission.tool} asks nobody':<34} since {clock(permission.at_ms)}: {typed(line)}"
    for schedule in restored.backup.fleet.schedules.values():
        line = f"starloom schedule pause {shlex.quote(schedule.name)}"
        row = {"what": "schedule", "id": schedule.id, "name": schedule.name, "line": line}
        if schedule.state is ScheduleState.ACTIVE and schedule.id not in restored.ended.schedules:
            yield row, f"  {f'schedule {schedule.name}':<34} since {clock(schedule.created_ms)}: {typed(line)}"
