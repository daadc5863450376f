"""Kernels: loops over arrays that are interpreted while work is small, compiled once it is large.

A kernel is a plain function in the part of Python that Numba compiles. Importing Numba takes a
second and compiling a kernel up to twenty, longer than most small work takes uncompiled. So Numba
is imported when the first kernel has enough work to repay that. Interpreted and compiled loops give
the same bytes, and only the amount of work decides between them.

Compiled code is kept on disk. Numba recompiles a kernel when the kernel's own file changes, but
does not notice a change in another file. Here the kept code is stamped with a hash of everything
that the kernel reaches (`_stamp`), so that kernels may share helper functions of any module.
"""

from __future__ import annotations

import gc
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from hornbeam.base.progress import Progress, Silent
from hornbeam.errors import warn

#: Allocations between garbage collections while compiling, which frees little.
GC_THRESHOLD = 200_000

#: Numba options of functions that only kernels call: no Python wrappers, which are slow to compile.
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
KEPT = {"cache": True}

#: Name prefix of the temporary cache folder that is used if no permanent folder is writable.
TEMPORARY = "hornbeam-kernels-"


class Kernel:
    """A loop over arrays, run interpreted or compiled.

    It calls plain functions only, of its own module or of other modules. Its `purpose` is named in
    messages: "Compiling the path search".
    """

    def __init__(self, function: FunctionType, purpose: str) -> None:
        self.function = function
        self.purpose = purpose
        self._asked = 0

    def pays(self, work: int, limit: int) -> bool:
        """Whether compiling pays: `work` and all units of work so far exceed the limit.

        So work in many small pieces is compiled in the end, too. It never costs much more than
        twice the time of the faster way, interpreted or compiled.
        """
        self._asked += work
        return self._asked > limit

    def choose(self, work: int, limit: int) -> Callable[..., Any]:
        """The loop to use for `work` units of work: compiled where that pays off (see `pays`)."""
        return self.compiled if self.pays(work, limit) else self.interpreted

    def for_size(self, size: int, limit: int) -> Callable[..., Any]:
        """The loop for data of a size: compiled if the size exceeds the limit.

        Earlier work does not count, so a server compiles at its start or never.
        """
        return self.compiled if size > limit else self.interpreted

    def interpreted(self, *arguments: Any) -> Any:  # noqa: ANN401
        """Run the loop in Python; overflow and division by zero behave as in compiled code."""
        with np.errstate(all="ignore"):
            return self.function(*arguments)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The loop as machine code, made at the first call or read from disk."""
        _listen(self.function.__module__, self.purpose)
        return _translated(self.function, KEPT)

    @property
    def folder(self) -> str | None:
        """The folder of the machine code; None if not kept, `TEMPORARY` if it may not last."""
        found: str | None = self.compiled.stats.cache_path  # type: ignore[attr-defined]
        return found


def numba_in_use() -> bool:
    """Whether a kernel was compiled already: compiling a further small kernel costs little then."""
    return bool(_purposes)


def kernels(purpose: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a decorator for the kernels of a file, whose `purpose` messages name."""

    def kernel(function: Callable[..., Any]) -> Kernel:
        assert isinstance(function, FunctionType)
        return Kernel(function, purpose)

    return kernel


def _translated(function: FunctionType, options: dict[str, bool]) -> Callable[..., Any]:
    """Compile a function with Numba, together with the plain functions that it calls."""
    space = _namespace(function.__module__)
    for name, called in _reached(function).items():
        if isinstance(called, Kernel):
            raise TypeError(f"{function.__name__} calls {name}, which is a kernel of its own")
        if isinstance(called, FunctionType):
            space[name] = _inner(called)
    copied = FunctionType(function.__code__, space, function.__name__, function.__defaults__)
    return _jitted(copied, options, _stamp(function))


@cache
def _inner(function: FunctionType) -> Callable[..., Any]:
    """Compile a function that kernels call, once for all of them."""
    return _translated(function, INNER)


@cache
def _namespace(module: str) -> dict[str, Any]:
    """A copy of a module's globals, in which compiled functions replace the plain functions."""
    return dict(vars(sys.modules[module]))


def _reached(function: FunctionType) -> dict[str, Any]:
    """The module-level values that a function names, by name."""
    space = vars(sys.modules[function.__module__])
    return {name: space[name] for name in function.__code__.co_names if name in space}


def _stamp(function: FunctionType) -> str:
    """Hash of the files of all functions that a function reaches, and of the constants they name.

    Compiled code contains the values of the constants, which may be defined in further files.
    """
    digest, seen, waiting = sha256(), {function}, [function]
    while waiting:
        reached = _reached(waiting.pop())
        constants = {k: v for k, v in reached.items() if isinstance(v, int | float | str | tuple)}
        digest.update(repr(sorted(constants.items())).encode())
        called = {value for value in reached.values() if isinstance(value, FunctionType)} - seen
        seen |= called
        waiting += sorted(called, key=lambda function: (function.__module__, function.__qualname__))
    for file in sorted({function.__code__.co_filename for function in seen}):
        digest.update(_source(file))
    return digest.hexdigest()


@cache
def _source(file: str) -> bytes:
    """The bytes of a source file; none for code that was typed rather than saved."""
    try:
        return Path(file).read_bytes()
    except OSError:
        return b""


def _jitted(function: FunctionType, options: dict[str, bool], stamp: str) -> Callable[..., Any]:
    from numba import config, njit

    plain = partial(njit, nogil=True, error_model="numpy")
    translate = plain(**options)
    try:
        translated: Callable[..., Any] = translate(function)
    except RuntimeError:  # no permanent folder can be written to
        try:
            folder = _temporary_folder()
            config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
            translated = translate(function)
        except (OSError, RuntimeError):  # no temporary folder can be written to either
            _say("Compiled code cannot be kept anywhere; the next run compiles again.", warns=True)
            return plain()(function)
        _say(
            f"Compiled code is kept in {folder}, since neither Hornbeam's own folder nor "
            "your home can be written to; set NUMBA_CACHE_DIR to a folder that lasts.",
            warns=True,
        )
    _prepare_cache(translated, stamp)
    _tolerate_full_disks(translated)
    return translated


def _tolerate_full_disks(translated: Callable[..., Any]) -> None:
    """Report a cache that cannot be written and continue; Numba itself would raise an error."""
    kept = getattr(translated, "_cache", None)
    if kept is None:
        return
    save = kept.save_overload

    def save_if_possible(*overload: Any) -> None:  # noqa: ANN401
        try:
            save(*overload)
        except OSError as error:
            why = error.strerror
            _say(f"Compiled code cannot be kept ({why}); the next run compiles again.", warns=True)

    kept.save_overload = save_if_possible


def _prepare_cache(translated: Callable[..., Any], stamp: str) -> None:
    """Have kept code recompiled unless its stamp is equal; delete an index that cannot be read.

    An index of another version may name a type that no longer exists, at which Numba would fail.
    """
    kept = getattr(getattr(translated, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = stamp
        try:
            kept._load_index()
        except Exception:  # any error of unpickling
            with suppress(OSError):
                os.unlink(kept._index_path)


def _temporary_folder() -> Path:
    """A temporary cache folder that only this user can write to; reuses an earlier run's folder."""
    if sys.platform != "win32":
        folder = Path(tempfile.gettempdir()) / f"{TEMPORARY}{os.getuid()}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = folder.lstat()
        owned = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
        if owned and stat.S_IMODE(status.st_mode) == 0o700:
            return folder
    return Path(tempfile.mkdtemp(prefix=TEMPORARY))


# --- messages and garbage collection while something is compiled --------------------------------

_purposes: dict[str, str] = {}
_announced: set[str] = set()
_listeners: list[Progress] = []


@contextmanager
def announced(progress: Progress) -> Iterator[None]:
    """Report to `progress` what is compiled in the block, on any thread; each message once."""
    if isinstance(progress, Silent):  # an outer `announced` still gets the messages
        yield
        return
    _listeners.append(progress)
    try:
        yield
    finally:
        del _listeners[max(i for i, listener in enumerate(_listeners) if listener is progress)]


def _say(text: str, *, warns: bool = False) -> None:
    """Report a message once per process to the latest listener; if none exists, warn if `warns`."""
    if text in _announced or not (_listeners or warns):
        return
    _announced.add(text)
    if _listeners:
        _listeners[-1].message(text)
    else:
        warn(text)


def _listen(module: str, purpose: str) -> None:
    """Register a listener that announces when Numba compiles (not loads) functions of a file."""
    if not _purposes:
        from numba.core import event

        event.register("numba:compile", _listener())  # type: ignore[no-untyped-call]
    _purposes[module] = purpose


def _listener() -> Any:  # noqa: ANN401
    from numba.core.event import Event, Listener

    class Compiling(Listener):
        depth = 0
        thresholds = gc.get_threshold()

        def on_start(self, event: Event) -> None:
            if self.depth == 0:
                self.thresholds = gc.get_threshold()
                gc.set_threshold(GC_THRESHOLD, *self.thresholds[1:])
            self.depth += 1
            purpose = _purposes.get(event.data["dispatcher"].py_func.__module__)
            if purpose is not None:
                _say(f"Compiling {purpose} (first run only; kept for the next time) ...")

        def on_end(self, event: Event) -> None:
            self.depth -= 1
            if self.depth == 0:
                gc.set_threshold(*self.thresholds)

    return Compiling()
