"""Files as the user names them: found, checked, and copied where they cannot be read in place."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from hornbeam.errors import DataError

BLOCK = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
#: Longest copy of a pipe or of an unpacked file, and longest run of NULs at its beginning.
MAX_COPY, MAX_LEADING_NULS = 16 << 30, 16 << 20


@dataclass(frozen=True)
class File:
    """A regular, non-empty file: where its (unpacked) bytes are, and what the user calls it."""

    path: Path
    name: str

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Read it from its beginning."""
        try:
            with self.path.open("rb") as stream:
                yield stream
        except OSError as error:  # deleted since it was found
            raise DataError(self.name, f"cannot be read: {error.strerror}") from None

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes block by block."""
        with self.opened() as stream:
            while block := stream.read(BLOCK):
                yield block


def suffix_of(item: str | os.PathLike[str]) -> str:
    """Suffix of a file in lower case, `.gz` aside: what the file is.

    Examples
    --------
    >>> suffix_of("data/Facts.CSV.gz")
    '.csv'
    """
    return Path(os.fspath(item).lower().removesuffix(".gz")).suffix


def find_file(item: str, folder: Path) -> File:
    """Check a file that the user named; "-" is the standard input.

    The sources are scanned several times, so pipes and devices are copied to `folder` first. So
    are gzipped files, whatever their suffix: DuckDB does not verify their checksums.
    """
    if not item:
        raise DataError("''", "is not a file name; expected a file")
    name = "standard input" if item == "-" else item
    try:
        path = _spooled(sys.stdin.buffer, folder) if item == "-" else _located(Path(item), folder)
        with path.open("rb") as stream:
            head = stream.read(2)
        if not head:
            raise DataError(name, "is empty; expected at least one fact")
        return File(_unpacked(path, name, folder) if head == GZIP_MAGIC else path, name)
    except FileNotFoundError:
        raise DataError(name, "no such file") from None
    except IsADirectoryError:
        raise DataError(name, "is a directory; expected a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(name, f"cannot be read: {reason}") from None


def is_empty(name: str) -> bool:
    """Whether a name is that of a regular file without any bytes."""
    return os.path.isfile(name) and not os.path.getsize(name)


def _located(path: Path, folder: Path) -> Path:
    """Find a regular file that SQL can name and that can be read again and again."""
    real = Path(os.path.realpath(path))
    if real.is_file() and _is_utf8(real):
        return real
    with path.open("rb") as stream:
        return _spooled(stream, folder)


def _is_utf8(path: Path) -> bool:
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _spooled(stream: BinaryIO, folder: Path) -> Path:
    """Copy a stream, which can be read only once, up to the limit: some have no end."""
    limit = min(MAX_COPY, shutil.disk_usage(folder).free // 2)
    size = 0
    with tempfile.NamedTemporaryFile(dir=folder, prefix="spool-", delete=False) as copy:
        while block := stream.read(BLOCK):
            size += len(block)
            if size > limit:
                cut = f"longer than {limit / 1e6:,.0f} MB, where a pipe or gzipped file is cut"
                raise ValueError(f"{cut}; save it, unpacked, as a file")
            if size > MAX_LEADING_NULS and not block.strip(b"\0"):
                raise ValueError("it holds NUL bytes without end; expected text")
            copy.write(block)
    return Path(copy.name)


def _unpacked(path: Path, name: str, folder: Path) -> Path:
    try:
        with gzip.open(path, "rb") as stream:
            return _spooled(cast("BinaryIO", stream), folder)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem = f"broken gzip file ({error}); expected a whole one"
        raise DataError(name, problem) from None
