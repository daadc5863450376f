"""What is learned from a few worlds, as plain data, for any engine, threads, order and version.

Within one environment all of it is the same, to the byte. Between environments (the lowest and the
newest versions of the dependencies) counts and rules are, and numbers agree to `CLOSE`:

    python -m tests.support.agreement lowest.json
    python -m tests.support.agreement --compare lowest.json newest.json
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hornbeam as hb
from hornbeam.facts.reading.readers import Input
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.model_file import model_text

CLOSE = 1e-9
Row = tuple[str | float, ...]


@dataclass(frozen=True)
class NamedWorld:
    """Facts and labels, and how they are learned from."""

    name: str
    facts: tuple[Row, ...]
    labels: tuple[Row, ...]
    method: str

    def permuted(self, seed: int) -> NamedWorld:
        """The same rows in another order."""
        rng = random.Random(seed)
        facts, labels = list(self.facts), list(self.labels)
        rng.shuffle(facts)
        rng.shuffle(labels)
        return NamedWorld(self.name, tuple(facts), tuple(labels), self.method)


def random_world(seed: int, method: str, soft: bool = False) -> NamedWorld:
    """Few entities, so that there are many paths; labels that some of the paths explain."""
    rng = random.Random(seed)
    atoms = {
        (f"e{rng.randrange(25)}", rng.choice("pqr"), f"e{rng.randrange(25)}") for _ in range(150)
    }
    facts = [(*atom, rng.randrange(1, 11) / 10) if soft else atom for atom in sorted(atoms)]
    reached = {(a, c) for a, p, b in atoms for d, q, c in atoms if b == d and p < q}
    pairs = sorted({(f"e{rng.randrange(25)}", f"e{rng.randrange(25)}") for _ in range(80)})
    labels = [(a, "t", b, float(((a, b) in reached) ^ (rng.random() < 0.15))) for a, b in pairs]
    called = f"random {seed}{' soft' if soft else ''}, {method}"
    return NamedWorld(called, tuple(facts), tuple(labels), method)


def worlds() -> Iterator[NamedWorld]:
    """Random ones, and the bundled countries."""
    yield random_world(1, "joint")
    yield random_world(2, "boost")
    yield random_world(3, "ppll", soft=True)
    folder = Path(hb.__file__).parent / "examples" / "countries"
    files = (folder / "observed.tsv", folder / "fold0" / "obs.tsv")
    facts = tuple(row for file in files for row in _rows(file))
    labels = tuple((a, p, b, float(y)) for a, p, b, y in _rows(folder / "fold0" / "train.tsv"))
    yield NamedWorld("countries", facts, labels, "joint")


def read_world(name: str, facts: Path, labels: Path, method: str) -> NamedWorld:
    """A world of two files."""
    labelled = tuple((a, p, b, float(y)) for a, p, b, y in _rows(labels))
    return NamedWorld(name, tuple(_rows(facts)), labelled, method)


def _rows(file: Path) -> Iterator[tuple[str, ...]]:
    return (tuple(line.split("\t")) for line in file.read_text().splitlines())


def learned(
    world: NamedWorld, engine: str = "memory", threads: int = 1, facts: Input | None = None
) -> dict[str, Any]:
    """Counts of the candidates, the rules, their weights, and the model's text.

    `facts` are those of the world, opened by an engine of the caller's.
    """
    model = hb.learn(
        facts or list(world.facts),
        list(world.labels),
        method=world.method,
        language=RuleLimits(min_coverage=2),
        engine=engine,
        threads=threads,
    )
    assert model.trace is not None
    counts = {
        one.clause: [one.coverage, one.coverage_true, one.paths] for one in model.trace.candidates
    }
    return {
        "counts": counts,
        "rules": [str(rule.clause) for rule in model.rules],
        "weights": [rule.weight for rule in model.rules],
        "text": model_text(model),
    }


def differences(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    """Where two environments disagree: in counts or rules at all, in weights beyond `CLOSE`."""
    if one.keys() != other.keys():
        yield f"worlds: {sorted(one.keys() ^ other.keys())}"
    for name in sorted(one.keys() & other.keys()):
        mine, yours = one[name], other[name]
        yield from (f"{name}: {key}" for key in ("counts", "rules") if mine[key] != yours[key])
        if mine["rules"] == yours["rules"]:
            for rule, a, b in zip(mine["rules"], mine["weights"], yours["weights"], strict=True):
                if not math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE):
                    yield f"{name}: {rule} weighs {a!r} and {b!r}"


def main() -> None:
    """Write what this environment learns, or compare what two have written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--compare", action="store_true")
    given = parser.parse_args()
    if not given.compare:
        [file] = given.files
        file.write_text(json.dumps({world.name: learned(world) for world in worlds()}, indent=1))
        return
    one, other = (json.loads(file.read_text()) for file in given.files)
    found = list(differences(one, other))
    print("\n".join(found) or f"{len(one)} worlds: the same counts and rules, weights to {CLOSE}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
