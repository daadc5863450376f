"""Ctrl-C ends a command within two seconds, whatever it is doing.

Python handles a signal only between two of its own instructions. A search in compiled code or a
query of a database may take a minute until the next instruction. So the system also writes the
signal's number to a pipe, which a separate thread reads. The command gets a moment to end by itself
and run its `finally` blocks; then this thread deletes its temporary files and ends the process.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from select import select

from hornbeam.base.files import delete_unfinished

#: Grace period in seconds for a command to end by itself.
GRACE_SECONDS = 1.2
#: Exit code after Ctrl-C: 128 plus the signal's number, as in shells.
INTERRUPTED = 130
STDERR = 2
#: Escape sequence that clears the line and shows the cursor, which a progress bar may have hidden.
SHOW_CURSOR = b"\r\x1b[2K\x1b[?25h"

_delegated = False


def exit_interrupted() -> None:
    """Delete unfinished files, and end the process with the exit code of Ctrl-C."""
    delete_unfinished()
    with suppress(OSError):  # the terminal may be gone
        # os.write, not sys.stderr: the interrupted thread may hold the lock of sys.stderr
        if select([], [STDERR], [], 0.1)[1]:
            shown = SHOW_CURSOR if os.isatty(STDERR) else b""
            os.write(STDERR, shown + b"hornbeam: interrupted\n")
    # threads may still be counting, and Python would wait for them
    os._exit(INTERRUPTED)


@contextmanager
def interrupts_handled() -> Iterator[None]:
    """End the process within two seconds of Ctrl-C in this block."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    hook, sys.unraisablehook = sys.unraisablehook, _ignore_unraisable_interrupt
    left = threading.Event()
    watching = threading.Thread(target=_watch, args=[read, left], daemon=True)
    watching.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        sys.unraisablehook = hook
        left.set()
        os.close(write)
        watching.join()


@contextmanager
def interrupts_delegated() -> Iterator[None]:
    """Leave Ctrl-C to another handler in this block (a server that closes its connections)."""
    global _delegated
    _delegated = True
    try:
        yield
    finally:
        _delegated = False


def _watch(read: int, left: threading.Event) -> None:
    """Wait for a signal, or for the end of the block."""
    while received := os.read(read, 1):
        is_ours = received[0] == signal.SIGINT and not _delegated
        if is_ours and not left.wait(GRACE_SECONDS):
            exit_interrupted()
    os.close(read)


def _ignore_unraisable_interrupt(unraisable: sys.UnraisableHookArgs) -> None:
    """Ignore a KeyboardInterrupt that cannot be raised (in a finalizer): `_watch` handles it."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
