"""Mutated inputs: bytes changed, tokens put in, pieces cut, moved, repeated and exchanged."""

from __future__ import annotations

import random
from collections.abc import Sequence

TOKENS = (
    b"\t", b"\n", b"\r", b"\r\n", b"\0", b'"', b'""', b",", b"'", b"\\", b" ", b"#", b":",
    b"(", b")", b"[", b"]", b"{", b"}", b"&", b"->", b"!", b"^2", b"|", b"==", b"1e308",
    b"-1", b"nan", b"inf",
    b"0.5", b"1", b"99999999999999999999", b"null", b"true", b"\xff", b"\xc3", b"\xef\xbb\xbf",
    "\u202e".encode(), "\u00e9".encode(), b"\x1b[31m", b"<", b">", b".", b"a" * 300, b"[n >= 2]",
    b"$HOME", b"../", b"%s", b"~", b"?", b"1e-320", b"\\u0000", b"\\ud800", b"&a", b"*a", b"- ",
    b"!!python/object:os.system", b"believed_", b"{}", b"[]", b"0", b"=", b"<=", b"=>", b"_:b",
    "\u2028".encode(), b"9" * 30, b"\x7f", b"\xc2\x9b", b"/", b"@", b"/*", b"//", b"true}",
)  # fmt: skip


def mutated(rng: random.Random, pool: Sequence[bytes]) -> bytes:
    """One to eight changes of one of a pool; pieces of the others may come in."""
    data = rng.choice(pool)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        data = _changed(rng, data, pool)
    return data


def _changed(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    i, j = sorted(rng.randint(0, len(data)) for _ in range(2))
    match rng.randrange(9):
        case 0:
            return data[:i] + rng.choice(TOKENS) + data[i:]
        case 1:
            return data[:i] + bytes([rng.randrange(256)]) + data[i + 1 :]
        case 2:
            return data[:i] + data[min(j, i + 8) :]
        case 3:
            return data[:i] + data[i : i + 20] + data[i:]
        case 4:
            lines = data.split(b"\n")
            rng.shuffle(lines)
            return b"\n".join(lines)
        case 5:
            return data[:i] + rng.choice(TOKENS) + data[min(len(data), i + 3) :]
        case 6:
            lines = data.split(b"\n")
            at = rng.randrange(len(lines))
            return b"\n".join(lines[:at] + [lines[at]] * rng.randrange(3) + lines[at + 1 :])
        case 7:
            other = rng.choice(pool)
            k = rng.randint(0, len(other))
            return data[:i] + other[k : k + rng.randint(1, 60)] + data[i:]
        case _:
            return data[:j]
