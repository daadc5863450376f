"""Reading models: CPU per rule, of texts with many rules.

    python benchmarks/bench_parsing.py [--rules 100000]

Rules are random: paths of one to three steps over 200 predicates, thresholds, constants, ways of
counting, negated heads. The first row has the grammar's tables to load, and little else.
"""

from __future__ import annotations

import argparse
import random
import time

from common import finish, markdown
from hornbeam.rules.model_file import parse_model

HEADER = '# hornbeam: {"version": 1, "counts": "raw", "relaxation": "squared"}\n'
PREDICATES = [f"predicate_{i}" for i in range(200)]


def path(rng: random.Random, length: int) -> str:
    """Atoms from A to B, each in one direction or the other."""
    nodes = ["A", *"CDE"[: length - 1], "B"]
    links = [nodes[k : k + 2][:: rng.choice((1, -1))] for k in range(length)]
    return " & ".join(f"{rng.choice(PREDICATES)}({a}, {b})" for a, b in links)


def rule(rng: random.Random, number: int) -> str:
    """One line of a model."""
    kind = rng.random()
    if kind < 0.6:
        sign, weighing = rng.choice(("", "", "!")), rng.choice(("", " [log]", " [exists]"))
        text = f"{path(rng, rng.choice((1, 2, 3, 3)))} -> {sign}target(A, B){weighing}"
    elif kind < 0.8:
        anchored = f"{rng.choice(PREDICATES)}(B, 'entity {number}')"
        text = f"({path(rng, 2)}) [n >= {rng.randint(2, 9)}] & {anchored} -> target(A, B)"
    else:
        text = f"{path(rng, 2)} -> target(A, B) [share / 0.{rng.randint(1000, 9999)}]"
    return f"{3 * rng.random()}: {text} ^2\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rules", type=int, default=100_000)
    rng, rows = random.Random(0), []
    most = parser.parse_args().rules
    for n in (1, most // 100, most // 10, most):
        text = HEADER + "".join(rule(rng, i) for i in range(n))
        cpu, clock = time.process_time(), time.perf_counter()
        assert len(parse_model(text, "model.psl").rules) == n
        used, passed = time.process_time() - cpu, time.perf_counter() - clock
        rows.append([f"{n:,}", f"{used:.2f}", f"{passed:.2f}", f"{1000 * used / n:.3f}"])
    print("\n## Rules read\n")
    print(markdown(["rules", "CPU, s", "clock, s", "CPU per rule, ms"], rows))
    finish()


if __name__ == "__main__":
    main()
