"""An endpoint becomes a model. The optional libraries are loaded here, and only when an endpoint is set."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final, cast

import msgspec

from starloom.planner.model.answers import Stage, answer_schema
from starloom.planner.model.endpoints.endpoint import Endpoint, endpoint_from
from starloom.planner.model.endpoints.page_settings import in_force
from starloom.planner.model.endpoints.spending import MICROS
from starloom.planner.model.port import Model, ModelFault
from starloom.planner.model.transport.recorded import RecordedModel, replies_in
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import Code

_WIRE = "starloom.planner.model.transport.wire"
EXTRA = "model"
_AROUND_BYTES: Final = 2048
"""The marks of turns and of the tool that a wire format adds to a prompt."""
LIBRARIES: Final = ("anthropic", "httpx2", "openai", "pydantic_ai")
"""The packages that the wire and its formats load; all of them are of the extra."""


def connect(endpoint: Endpoint) -> Model:
    """Return the model at an endpoint; nothing is dialled before it is asked.

    Raises:
        ModelFault: the extra `model` is not installed, or a recording cannot be read.
    """
    if endpoint.recording is not None:
        return _recorded(endpoint.recording)
    return _wired(endpoint)


def price_of(endpoint: Endpoint, input_tokens: int, output_tokens: int) -> int | None:
    """Return the millionths of a dollar that so many tokens would cost there, None where that is not known.

    Raises:
        ModelFault: the extra `model` is not installed.
    """
    if endpoint.local:
        return 0
    return cast("int | None", _wire().listed_price(endpoint, input_tokens, output_tokens))


def tokens_most(endpoint: Endpoint, prompt: str, stage: Stage) -> tuple[int, int]:
    """Return the most tokens that a call may read and write there. No token is shorter than a byte."""
    schema = msgspec.json.encode(answer_schema(stage))
    return len(prompt.encode()) + len(schema) + _AROUND_BYTES, endpoint.limits.output_tokens_most


def price_words(endpoint: Endpoint, input_tokens: int, output_tokens: int) -> str:
    """Return the price of so many tokens as the end of a sentence.

    Raises:
        ModelFault: the extra `model` is not installed.
    """
    if endpoint.local:
        return "no money, since it is on this machine"
    micros = price_of(endpoint, input_tokens, output_tokens)
    return "at a price that is not known here" if micros is None else f"about {micros / MICROS:.2f} dollars"


def missing_libraries() -> Fault | None:
    """Return the fault of an environment without the extra `model`; loads nothing, so it may be asked at any moment."""
    lacking = [name for name in LIBRARIES if find_spec(name) is None]
    return _not_installed(lacking[0]).fault if lacking else None


def unusable(variables: Mapping[str, str], folder: Path | None) -> Fault | None:
    """Return why the model that is set cannot be asked from here; None where it can be, or where none is set."""
    try:
        endpoint = endpoint_from(in_force(variables, folder))
    except ModelFault as error:
        return error.fault
    return missing_libraries() if endpoint is not None and endpoint.recording is None else None


def _wire() -> ModuleType:
    try:
        return import_module(_WIRE)
    except ImportError as error:
        raise _not_installed(error.name) from error


def _wired(endpoint: Endpoint) -> Model:
    try:
        return cast(Model, _wire().WiredModel(endpoint))
    except ImportError as error:  # of the library of its format
        raise _not_installed(error.name) from error


def _not_installed(library: str | None) -> ModelFault:
    reason = f"the libraries for a model are not installed where the hub runs ({library} is missing)"
    hint = f"Install them there, and start the hub again: {install_line()}"
    return ModelFault(Code.MODEL_NOT_SET, reason, hint)


def install_line() -> str:
    """Return the line that installs the libraries of the extra `model` into this interpreter's environment."""
    extra = [one.partition(";")[0].strip() for one in requires("starloom") or () if EXTRA in one.partition(";")[2]]
    return shlex.join([sys.executable, "-P", "-m", "pip", "install", *sorted(extra)])


def check_libraries(endpoint: Endpoint) -> None:
    """Make sure that an endpoint could be asked from here.

    Raises:
        ModelFault: the extra `model` is not installed.
    """
    _wired(endpoint)


def _recorded(file: Path) -> Model:
    try:
        replies = replies_in(file.read_bytes().splitlines())
    except OSError as error:
        raise ModelFault(Code.MODEL_NOT_SET, f"the recording {file} cannot be read ({error.strerror})") from error
    return RecordedModel(replies, f"the recording {file.name}")
