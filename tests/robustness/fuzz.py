"""`make fuzz`: mutated inputs by the thousand, for every reader; findings go to the corpus."""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from tests.support.mutations import TARGETS, check, mutated

CORPUS = Path(__file__).with_name("corpus")


def main() -> None:
    """Mutate, read, count; exit 1 where there was a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000, help="how many distinct inputs")
    parser.add_argument("--seconds", type=float, default=600.0, help="stop after so many")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, began = random.Random(given.seed), time.monotonic()
    seen, findings = set[bytes](), 0
    counts = {target.name: [0, 0] for target in TARGETS}
    with tempfile.TemporaryDirectory() as folder:
        while len(seen) < given.inputs and time.monotonic() - began < given.seconds:
            target = rng.choice(TARGETS)
            data = mutated(rng, target)
            name = hashlib.sha256(target.name.encode() + data).digest()
            if name in seen:
                continue
            seen.add(name)
            try:
                accepted = check(target, data, Path(folder))
            except Exception:
                findings += 1
                kept = CORPUS / f"{name.hex()[:12]}-{target.file}"
                kept.write_bytes(data)
                print(f"{kept}:\n{traceback.format_exc(limit=-4)}", flush=True)
                continue
            counts[target.name][accepted] += 1
    for label, (refused, taken) in counts.items():
        print(f"{label:16} {refused:8,} refused {taken:8,} accepted")
    print(f"{len(seen):,} distinct inputs, {findings} findings, {time.process_time():,.0f} CPU s")
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
