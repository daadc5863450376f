"""Writing files and folders, all or nothing; and the fingerprints of texts.

Output is written under a temporary name in the same folder and renamed in one step. At worst, a
killed run leaves a temporary file or folder behind. The writing process holds a lock on it, which
the system releases when the process ends; a later run deletes it if no process holds the lock.
Windows locks neither folders nor files that are to be renamed, so that temporary files of killed
runs stay there until the user deletes them.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from hornbeam.errors import DataError, InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Temporary names: of outputs being written, and of replaced folders being deleted.
TEMPORARY = re.compile(r"\.hornbeam-[0-9a-f]{16}\.tmp")
#: Flag of Linux' renameat2: atomically exchange two existing names.
RENAME_EXCHANGE = 2
AT_FDCWD = -100
#: Stands for a lock where the system has none.
NO_LOCK = -1

#: Temporary files and folders of this process.
_unfinished: set[Path] = set()


def fingerprint(text: str) -> str:
    """Short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def save_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8, all of it or nothing: an existing file stays until the end.

    The text goes to a temporary file in the same folder, which then replaces the existing file. A
    link is followed, and a pipe or device (`/dev/stdout`) is written to directly.
    """
    with cannot_be_written(path):
        if os.path.exists(path) and _is_device(path):
            with open(path, "ab") as stream:
                stream.write(text.encode())
            return
    with replaced_file(path) as temporary:
        temporary.write_bytes(text.encode())


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write to; it replaces `path` if the block ends without an error."""
    with cannot_be_written(path):
        place = Path(os.path.realpath(path))
        if place.is_dir():
            raise IsADirectoryError
        with _temporary(place.parent, lambda new: new.touch(exist_ok=False)) as temporary:
            yield temporary
            _to_disk(temporary)
            if place.exists():
                os.chmod(temporary, place.stat().st_mode & 0o7777)
            os.replace(temporary, place)


def check_folder(folder: str | os.PathLike[str], foreign_in: Callable[[Path], str | None]) -> None:
    """Refuse a folder that may not be replaced as a whole.

    A missing or an empty folder may be replaced. For any other folder, `foreign_in` describes
    content that Hornbeam did not write and may not delete; it returns None if there is none.
    """
    place = Path(os.path.realpath(folder))
    with cannot_be_written(folder):
        if place.is_file():
            raise InputError(f"{folder}: is a file; expected a folder")
        if not place.is_dir():
            return
        if Path.cwd().is_relative_to(place):
            problem = "you are in it, and it is replaced as a whole; go elsewhere"
            raise InputError(f"{folder}: {problem}")
        foreign = foreign_in(place) if any(place.iterdir()) else None
    if foreign is not None:
        raise InputError(f"{folder}: holds {foreign}; expected a new or an empty folder")


def save_folder(
    folder: str | os.PathLike[str],
    write: Callable[[Path], None],
    foreign_in: Callable[[Path], str | None],
) -> None:
    """Let `write` fill a new folder, which then replaces `folder` in one step.

    The old folder is deleted after that; see `check_folder` for `foreign_in`. Where the system
    cannot exchange two folders, the old folder is called `.hornbeam-*.old` for a moment.
    """
    check_folder(folder, foreign_in)
    place = Path(os.path.realpath(folder))
    with cannot_be_written(folder), _temporary(place.parent, Path.mkdir) as temporary:
        write(temporary)
        for file in sorted(temporary.rglob("*")):
            if file.is_file():
                _to_disk(file)
        if not place.exists():
            os.rename(temporary, place)
            return
        shutil.copymode(place, temporary)
        if not _exchanged(temporary, place):
            aside = temporary.with_suffix(".old")
            os.rename(place, aside)
            os.rename(temporary, place)
            os.rename(aside, temporary)


def refuse_inputs(output: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Refuse to overwrite one of the files that are read."""
    for name in inputs:
        both_exist = os.path.exists(name) and os.path.exists(output) and not _is_device(output)
        if both_exist and os.path.samefile(name, output):
            raise InputError(f"{output}: is read from; expected another output")


@contextmanager
def cannot_be_written(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn a system error in the block into an error that names the output and what to do."""
    try:
        yield
    except OSError as error:
        raise DataError(os.fspath(path), f"cannot be written: {_reason(error)}") from None


@contextmanager
def _temporary(folder: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """A new, locked file or folder under a temporary name, which is deleted after the block."""
    _delete_abandoned(folder)
    while True:
        # not by `tempfile`: only the owner may read its files
        path = folder / f".hornbeam-{secrets.token_hex(8)}.tmp"
        make(path)
        owner = _hold(path)
        if owner is not None:
            break
    _unfinished.add(path)
    try:
        yield path
    finally:
        # also after an interrupt
        _delete(path)
        _unfinished.discard(path)
        if owner != NO_LOCK:
            os.close(owner)


def delete_unfinished() -> None:
    """Delete the unfinished outputs of this process, which is about to end."""
    for path in list(_unfinished):
        with suppress(OSError):
            _delete(path)


@contextmanager
def working_folder(
    parent: str | os.PathLike[str] | None = None, mode: int = 0o700
) -> Iterator[Path]:
    """A temporary folder in `parent`, by default in the system's folder of temporary files."""
    with ExitStack() as stack:
        try:
            place = Path(parent or tempfile.gettempdir())
            folder = stack.enter_context(_temporary(place, lambda path: path.mkdir(mode)))
        except OSError as error:
            what = "the temporary folder" if parent is None else os.fspath(parent)
            advice = "set TMPDIR to another" if parent is None else "set `spill_dir` to another"
            raise InputError(f"{what}: cannot be written to ({_cause(error)}); {advice}") from None
        yield folder


def _delete_abandoned(folder: Path) -> None:
    """Delete the temporary files and folders that killed runs have left in a folder."""
    names = list[str]()
    with suppress(OSError):  # a folder may be writable and not readable
        names = [name for name in os.listdir(folder) if TEMPORARY.fullmatch(name)]
    for name in names:
        # errors: another process uses the path, or we may not delete it, or it is gone already
        with suppress(OSError), _unlocked_now(folder / name):
            _delete(folder / name)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _to_disk(file: Path) -> None:
    """Write a file to disk (fsync), so that no power failure leaves a name without content."""
    seen = os.open(file, os.O_RDWR)  # Windows syncs only files open for writing
    try:
        os.fsync(seen)
    finally:
        os.close(seen)


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; False where the system cannot."""
    if sys.platform == "win32":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if not rename(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE):
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code))


def _is_device(path: str | os.PathLike[str]) -> bool:
    # /dev/stdout links to the file, pipe or terminal that the shell has opened
    return os.path.dirname(path) in ("/dev", "/dev/fd") or not (
        os.path.isfile(path) or os.path.isdir(path)
    )


def _reason(error: OSError) -> str:
    if isinstance(error, IsADirectoryError):
        return "it is a folder; name a file in it"
    if isinstance(error, FileNotFoundError):
        return "its folder does not exist; make it first"
    if isinstance(error, NotADirectoryError):
        return "its folder is a file"
    if isinstance(error, PermissionError):
        return "its folder cannot be written to; choose another, or change its permissions"
    return _cause(error)


def _cause(error: OSError) -> str:
    return error.strerror or str(error)


def _hold(path: Path) -> int | None:
    """Lock a new path; None where another run took it for abandoned and deleted it before."""
    if fcntl is None:
        return NO_LOCK
    try:
        owner = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    fcntl.flock(owner, fcntl.LOCK_EX)
    if os.path.exists(path):
        return owner
    os.close(owner)
    return None


@contextmanager
def _unlocked_now(path: Path) -> Iterator[None]:
    """Lock a path for the block; `OSError` if another process has the lock, or without locks."""
    if fcntl is None:
        raise OSError(errno.ENOTSUP, "no locks")
    seen = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(seen, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(seen)
