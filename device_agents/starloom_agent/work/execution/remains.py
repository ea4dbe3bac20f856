"""The comparison of a tool's process after a call with what it was before: a process that differs serves no other call.

It covers what the process can see of itself: variables, folder, signals, limits, threads, settings of libraries, and
the names of our own modules and of those of Python that tools work with. It hears of what can be seen nowhere: audit
hooks, calls at the exit, and functions whose code or defaults were exchanged. Its runner looks at it from outside for
what holds or runs.
"""

from __future__ import annotations

import atexit
import csv
import decimal
import gc
import locale
import mimetypes
import os
import signal
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any, Final

if sys.platform != "win32":
    import resource

_OURS: Final = ("starloom_agent.", "starloom_protocol.")
_TOOLS: Final = "starloom_agent.tools."
_OF_PYTHON: Final = (
    "atexit", "builtins", "codecs", "csv", "io", "json", "json.decoder", "json.encoder", "mimetypes", "msgspec", "os",
    "pathlib", "pathlib._abc", "pathlib._local", "posixpath", "random", "re", "select", "signal", "socket", "stat",
    "subprocess", "sys", "tempfile", "time",
)  # fmt: skip
_READS_AND_WRITES: Final = ("json.decoder", "json.encoder", "pathlib", "pathlib._abc", "pathlib._local")
"""Modules of Python whose classes are looked at, too: those of all would cost each call a tenth of its time."""
_OF_A_DIALECT: Final = (
    "delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting", "skipinitialspace", "strict",
)  # fmt: skip
_SIGNALS: Final = tuple(sorted(signal.valid_signals()))
_LIMITS: Final = (
    ()
    if sys.platform == "win32"
    else tuple(sorted(value for name, value in vars(resource).items() if name.startswith("RLIMIT_")))
)
_HOOK: Final = "sys.addaudithook"
_EXCHANGES: Final = frozenset({"object.__setattr__", "object.__delattr__"})
"""The events of an attribute that Python audits: of a function these are its code and its defaults, and no others."""
_Names = tuple[str, Any, list[Any]]
_names: list[_Names] = []
_exit_hooks: Final[list[str]] = []
"""Deeds of this process since it was listened to that leave nothing to see. The list only grows."""
_functions: Final[set[int]] = set()
"""The functions that were there when the names were remembered; a new one may be given its defaults."""


def remember_names() -> None:
    """Take down what names and functions mean now, for all processes that are forked from this one."""
    if not _functions:
        # The first finalizer of a process is registered for its exit, once for all of them.
        weakref.finalize(Before, int).detach()
        atexit.register = _listened(atexit.register)
        sys.addaudithook(_hear)
    _functions.update(id(one) for one in gc.get_objects() if type(one) is FunctionType)
    _names.clear()
    for name, module in list(sys.modules.items()):
        if name in _OF_PYTHON or name.startswith(_OURS):
            with_classes = name in _READS_AND_WRITES or name.startswith(_OURS)
            objects = vars(module).values() if with_classes else ()
            classes = [one for one in objects if isinstance(one, type) and one.__module__ == name]
            _names.append(_names_of(name, module))
            _names.extend(_names_of(name, one) for one in classes)


def _listened(register: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(register)
    def noting(*args: Any, **kwargs: Any) -> Any:
        _exit_hooks.append("atexit")
        return register(*args, **kwargs)

    return noting


def _hear(event: str, args: tuple[Any, ...]) -> None:
    # It is called at each event that Python audits, such as each file that is opened: most end at the first line.
    if event in _EXCHANGES:
        if id(args[0]) in _functions:
            _exit_hooks.append(event)
    elif event == _HOOK:
        _exit_hooks.append(event)


def _names_of(module: str, holder: ModuleType | type[object]) -> _Names:
    return module, vars(holder), list(vars(holder).values())


class Before:
    """A process as it was before the first of its calls began. `module`: that of its tool, below `tools`."""

    def __init__(self, module: str) -> None:
        self._room = f"{_TOOLS}{module.partition('.')[0]}"
        self._seen = _seen()

    def is_now(self) -> bool:
        """Whether nothing of it differs now. False where no names were remembered."""
        return bool(_names) and _seen() == self._seen and self._means_the_same()

    def _means_the_same(self) -> bool:
        # The tools of other rooms are never called here, and to look at them copies their pages.
        return all(
            list(names.values()) == values
            for module, names, values in _names
            if not module.startswith(_TOOLS) or module.startswith(self._room)
        )


def _seen() -> tuple[object, ...]:
    mask = os.umask(0)
    os.umask(mask)
    return (
        len(_exit_hooks),
        mask,
        os.getcwd(),  # noqa: PTH109 - a path object costs more than the reading
        dict(os.environ),
        list(sys.path),
        [signal.getsignal(number) for number in _SIGNALS],
        signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        [signal.getitimer(timer) for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
        [resource.getrlimit(kind) for kind in _LIMITS],
        os.getpriority(os.PRIO_PROCESS, 0),
        threading.active_count(),
        (sys.gettrace(), sys.getprofile(), sys.getrecursionlimit(), sys.getswitchinterval()),
        (gc.isenabled(), gc.get_threshold(), list(gc.callbacks)),
        locale.setlocale(locale.LC_ALL),
        _settings(),
    )


def _settings() -> tuple[object, ...]:
    """Return what libraries keep for a whole process, where a call could change how the next one reads and writes."""
    return (
        sys.get_int_max_str_digits(),
        (list(sys.meta_path), list(sys.path_hooks)),
        csv.field_size_limit(),
        [(name, _spelled(csv.get_dialect(name))) for name in csv.list_dialects()],
        repr(decimal.DefaultContext),
        list(warnings.filters),
        (dict(mimetypes.types_map), dict(mimetypes.common_types), dict(mimetypes.encodings_map)),
    )


def _spelled(dialect: object) -> tuple[object, ...]:
    return tuple(getattr(dialect, name) for name in _OF_A_DIALECT)
