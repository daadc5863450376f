"""`make fuzz`: mutated inputs by the thousand, for every reader and command.

Inputs that reach a line of the package which none before them has reached are mutated further.
Findings go to the corpus, which the tests read.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Protocol

from tests.support.fuzz_commands import Commands
from tests.support.fuzz_readers import TARGETS as READERS
from tests.support.line_coverage import LineCoverage

CORPUS = Path(__file__).with_name("corpus")
#: What one input may take: CPU seconds, and megabytes beyond what all before it took.
MAX_SECONDS, MAX_MEGABYTES = 30, 512
#: Where an input is kept while it is tried: it stays if the process dies of it.
UNDER_WAY = "under-way"
#: Of so many inputs one is watched for new lines: watching takes as long as reading.
WATCHED = 8
#: Bytes of a hash, by which inputs are told apart.
DIGEST = 32


class Fuzzed(Protocol):
    """What takes mutated inputs."""

    @property
    def name(self) -> str:
        """What figures call it."""

    @property
    def file(self) -> str:
        """The file's name in the corpus."""

    @property
    def often(self) -> int:
        """How often it is tried."""

    @property
    def seeds(self) -> tuple[bytes, ...]:
        """Valid inputs."""

    def mutated(self, rng: random.Random, pool: Sequence[bytes]) -> bytes:
        """A new input."""

    def check(self, data: bytes, folder: Path) -> bool:
        """Whether an input is accepted; an exception is a finding."""


TARGETS: tuple[Fuzzed, ...] = (*READERS, Commands())


@dataclass
class Tried:
    """A target in a campaign: its folder, what is mutated, and how many were refused, accepted."""

    target: Fuzzed
    folder: Path
    pool: list[bytes] = field(default_factory=list)
    counts: list[int] = field(default_factory=lambda: [0, 0])


def too_long(signal: int, frame: FrameType | None) -> None:
    """What the alarm of an input does."""
    raise TimeoutError(f"more than {MAX_SECONDS} CPU seconds")


def judge(target: Fuzzed, data: bytes, folder: Path) -> bool:
    """Check an input within its limits."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    try:
        accepted = target.check(data, folder)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert more < MAX_MEGABYTES, f"{more:.0f} MB more than all inputs before"
    return accepted


def main() -> None:
    """Mutate, read, count; exit 1 where there was a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many distinct inputs")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="an expression for their names")
    parser.add_argument("--seen", type=Path, help="hashes of earlier runs: they count together")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, too_long)
    faulthandler.enable()
    with tempfile.TemporaryDirectory() as place:
        print(f"what is tried: {place}/{UNDER_WAY}", flush=True)
        some = [target for target in TARGETS if re.search(given.only, target.name)]
        kept = given.seen.read_bytes() if given.seen and given.seen.exists() else b""
        seen = {kept[at : at + DIGEST] for at in range(0, len(kept), DIGEST)}
        findings = campaign(some, Path(place), given.inputs, given.seconds, given.seed, seen)
        if given.seen:
            given.seen.write_bytes(b"".join(sorted(seen)))
        sys.exit(findings > 0)


def campaign(
    targets: Sequence[Fuzzed],
    place: Path,
    inputs: int,
    seconds: float,
    seed: int,
    seen: set[bytes],
) -> int:
    """Try inputs until so many distinct ones are seen, print figures, and return the findings."""
    rng, began, findings = random.Random(seed), time.monotonic(), 0
    coverage = LineCoverage()
    tried = [Tried(one, place / str(k), list(one.seeds)) for k, one in enumerate(targets)]
    for one in tried:
        one.folder.mkdir()
    weights = [one.target.often for one in tried]
    while len(seen) < inputs and time.monotonic() - began < seconds:
        [one] = rng.choices(tried, weights)
        data = one.target.mutated(rng, one.pool)
        name = hashlib.sha256(one.target.name.encode() + data).digest()
        if name in seen:
            continue
        seen.add(name)
        reached = coverage.reached
        (place / UNDER_WAY).write_bytes(one.target.name.encode() + b"\n" + data)
        try:
            if rng.randrange(WATCHED):
                accepted = judge(one.target, data, one.folder)
            else:
                with coverage.watched():
                    accepted = judge(one.target, data, one.folder)
        except Exception:
            findings += 1
            keep(one.target, name, data)
            continue
        one.counts[accepted] += 1
        if coverage.reached > reached:
            one.pool.append(data)
        if len(seen) % 1000 == 0:
            tell(len(seen), findings, coverage)
    for one in tried:
        refused, taken = one.counts
        print(
            f"{one.target.name:18} {refused:7,} refused {taken:7,} accepted "
            f"{len(one.pool) - len(one.target.seeds):5,} reached new lines"
        )
    tell(len(seen), findings, coverage)
    return findings


def keep(target: Fuzzed, name: bytes, data: bytes) -> None:
    """Write a finding to the corpus, and say what was found."""
    kept = CORPUS / f"{name.hex()[:12]}-{target.name.replace(' ', '_')}"
    kept.write_bytes(data)
    print(f"{kept}:\n{traceback.format_exc(limit=-4)}", flush=True)


def tell(inputs: int, findings: int, coverage: LineCoverage) -> None:
    """Say how far it is."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{inputs:,} distinct inputs, {findings} findings, {coverage.reached:,} lines reached, "
        f"{time.process_time():,.0f} CPU s, peak {peak:,.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main()
