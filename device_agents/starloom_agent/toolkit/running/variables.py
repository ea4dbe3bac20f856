"""Environment variables that a request may give to a program: names of credentials only.

Not a tool: `shell.run` and `python.run` use it. A variable such as `LD_PRELOAD` or `PATH` would let a request run
another command than the one that the owner allowed.
"""

from __future__ import annotations

from collections.abc import Mapping

from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.records.access import CREDENTIAL_NAME
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code

_MOST = 32


def checked(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables.

    Raises:
        ToolFailed: `bad_arguments` for a name that is none of a credential.
    """
    if len(variables) > _MOST:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"`env` has more than {_MOST} variables", effect=False)
    for name, value in variables.items():
        if not CREDENTIAL_NAME.fullmatch(name):
            detail = (
                f"`env` takes variables for credentials only: {quoted(name)} does not end in PASSWORD, PASSPHRASE, "
                "TOKEN, SECRET, APIKEY, _KEY, _KEY_ID, _PWD, _PASS or _CREDENTIALS (capitals)"
            )
            raise ToolFailed(Code.BAD_ARGUMENTS, detail, effect=False)
        if "\0" in value:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"the variable {name} holds NUL", effect=False)
    return dict(variables)
