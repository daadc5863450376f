"""Writing files, all of a text or nothing; and the fingerprints of texts."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from hornbeam.errors import DataError


def fingerprint(text: str) -> str:
    """Short name that a text has, and hardly any other."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def save_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8, all of it or nothing: a file that was there stays until the end.

    The text goes to a temporary file in the same folder, which then takes the file's place. A
    link is followed, and a pipe or device (`/dev/stdout`) is written to as it is.

    Raises
    ------
    DataError
        Where the file cannot be written; nothing has changed then.
    """
    save_bytes(path, text.encode())


def save_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes as `save_text` writes a text, all of them or nothing."""
    try:
        if os.path.exists(path) and _is_device(path):
            with open(path, "ab") as stream:
                stream.write(data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise DataError(os.fspath(path), f"cannot be written: {_reason(error)}") from None


def _is_device(path: str | os.PathLike[str]) -> bool:
    # /dev/stdout is a link to whatever the shell has opened, even where that is a file.
    return os.path.dirname(path) in ("/dev", "/dev/fd") or not (
        os.path.isfile(path) or os.path.isdir(path)
    )


def _replace(path: Path, data: bytes) -> None:
    if path.is_dir():
        raise IsADirectoryError
    # Not made by `tempfile`, whose files only their owner may read.
    temporary = path.with_name(f".hornbeam-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as stream:
            if path.exists():
                os.chmod(temporary, path.stat().st_mode & 0o7777)
            stream.write(data)
        os.replace(temporary, path)
    except BaseException:
        # An interrupt leaves nothing behind either.
        temporary.unlink(missing_ok=True)
        raise


def _reason(error: OSError) -> str:
    if isinstance(error, IsADirectoryError):
        return "it is a folder; name a file in it"
    if isinstance(error, FileNotFoundError):
        return "its folder does not exist; make it first"
    if isinstance(error, NotADirectoryError):
        return "its folder is a file"
    if isinstance(error, PermissionError):
        return "its folder cannot be written to; choose another, or change its permissions"
    return error.strerror or str(error)
