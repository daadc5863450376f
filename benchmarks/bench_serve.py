"""The explorer under load: 20 clients on a million facts, alone and beside hostile ones.

    python benchmarks/bench_serve.py

Random facts (ten an entity, 20 predicates, degrees so skewed that the largest hubs have almost one
fact in a hundred), a model and 20,000 labelled pairs are written to a temporary folder and served
by a process of its own on 127.0.0.1. There are three models of the same 32 bodies of length 1 to 3:
`plain` has a rule of one way of counting for each, `mixed` two or three rules, by log, exists and
share, as `joint` learns them by default, and `graph` is a model of the whole graph, whose rules no
visitor edits. Every client asks for one page after the other without a pause, over one connection,
for random entities; or for the score of one pair as JSON. Then 500 hostile connections stand beside
them (`hostile_clients.py` says what they do), and in the last rows two clients more that ask for
the dearest pages without a pause. In the end 50,000 pairs are scored, one by one: does the server
hold more memory afterwards?
"""

from __future__ import annotations

import argparse
import html
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

import hornbeam as hb
from common import finish, markdown
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule
from hornbeam.rules.weighing import Counts, Weighing
from tests.support.synthetic import (
    Planted,
    plant_targets,
    random_facts,
    random_rules,
    write_parquet,
)

LENGTHS = (1, 2, 2, 3, 3, 2, 3, 2) * 4
WAYS = (Weighing(Counts.LOG), Weighing(Counts.EXISTS), Weighing(Counts.SHARE, 0.01))
GRAPH_HEADER = (
    '# hornbeam-graph: {"format": 2, "features": ["best"], "weights": [1.0], "ridge": null, '
    '"constants": true, "backward": true, "pool": 50, "max_length": 3, "calibration": {"slope": '
    '1.0, "intercept": 0.0}, "linked": {"train": 0.0, "valid": null}, "seed": 0, "chosen": {}, '
    '"predicates": {}}'
)
#: The relation that the model of the whole graph answers.
ANSWERED = "p00"
MODELS = ("plain", "mixed", "graph")
SKEW, PREDICATES, N_LABELS = 0.7, 20, 20_000
#: A request of a client: method, address, body.
Request = tuple[str, str, str | None]
HEADER = [
    "pages", "answers", "wrong", "per second", "50 %, ms", "95 %, ms", "99 %, ms",
    "server CPU, ms per answer", "clients' CPU", "load average",
]  # fmt: skip
HTMX = {"hx-request": "true", "content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}
#: Requests before memory is measured: caches are full, and everything has run once.
SETTLED = 5_000


@dataclass(frozen=True)
class Explorer:
    """A running `hornbeam serve`, with the processes in which it makes pages."""

    port: int
    process: int

    @property
    def processes(self) -> list[int]:
        """Itself, and its copies."""
        copies = Path(f"/proc/{self.process}/task/{self.process}/children").read_text()
        return [self.process, *map(int, copies.split())]

    def cpu(self) -> float:
        """Seconds of CPU that the server has used."""
        ticks = 0
        for process in self.processes:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """Bytes of memory that they hold, what they share counted once."""
        shares = [Path(f"/proc/{one}/smaps_rollup").read_text() for one in self.processes]
        return sum(1024 * int(re.findall(r"^Pss: +(\d+) kB", text, re.M)[0]) for text in shares)

    def get(self, address: str) -> str:
        """One page."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", address)
        text = connection.getresponse().read().decode()
        connection.close()
        return text


def models_of(planted: Planted) -> dict[str, hb.Model | hb.GraphModel]:
    """Models of the planted rules: of one way of counting, of several, and of the whole graph."""
    plain, mixed, lines = list[Rule](), list[Rule](), list[str]()
    for i, rule in enumerate(planted.rules):
        body = Body(tuple(Step(*step) for step in rule.body), "target")
        plain.append(Rule(0.3 + 0.1 * i, Clause(body, not rule.positive)))
        mixed += [
            Rule(0.15 + 0.05 * i + 0.01 * k, Clause(body, not rule.positive, way))
            for k, way in enumerate(WAYS)
            if k != i % 4
        ]
        names = ["X", *"ABC"[: len(rule.body) - 1], "Y"]
        atoms = [
            f"{step}({names[k + inverse]}, {names[k + 1 - inverse]})"
            for k, (step, inverse) in enumerate(rule.body)
        ]
        lines.append(f"0.5: {' & '.join(atoms)} -> {ANSWERED}(X, Y) [{10 + i} of {40 + i}]")
    last, asked = (
        Rule(1.0, prior("target")),
        f'## {ANSWERED}(X, Y), Y is asked for: {{"queries": 100}}',
    )
    return {
        "plain": hb.Model((*plain, last)),
        "mixed": hb.Model((*mixed, last)),
        "graph": hb.GraphModel.parse("\n".join([GRAPH_HEADER, asked, *lines])),
    }


def write_data(folder: Path, n_facts: int) -> list[str]:
    """Write facts, labels, models and the names of hubs; say which entities there are."""
    n_entities = n_facts // 10
    facts = random_facts(n_entities, n_facts, PREDICATES, skew=SKEW)
    planted = plant_targets(facts, random_rules(facts, LENGTHS, 8, seed=1), N_LABELS, seed=2)
    for name, model in models_of(planted).items():
        model.save(folder / f"{name}.psl")
    write_parquet(folder / "facts.parquet", n_facts, n_entities, PREDICATES, skew=SKEW)
    (folder / "labels.tsv").write_text(tsv(planted.labels))
    degree = np.bincount(np.concatenate(facts.binary.arguments))
    hubs = facts.entities.take(np.argsort(-degree)[:50])
    (folder / "hubs.txt").write_text("\n".join(hubs))
    return list(facts.entities)


@contextmanager
def serving(folder: Path, model: str) -> Iterator[Explorer]:
    """Serve a model of the folder on its data."""
    labels = [] if model == "graph" else ["--labels", str(folder / "labels.tsv")]
    command = [
        sys.executable, "-m", "hornbeam.cli.main", "serve", str(folder / f"{model}.psl"), "--facts",
        str(folder / "facts.parquet"), *labels, "--port", "0", "--json", "--quiet",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        try:
            yield Explorer(told["port"], process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def tsv(labels: Targets) -> str:
    names = labels.entities
    rows = zip(labels.subject.tolist(), labels.object.tolist(), labels.positive, strict=True)
    return "".join(f"{names[s]}\ttarget\t{names[o]}\t{int(y)}\n" for s, o, y in rows)


#: The phases of all pages, and of programs that ask for the score of one pair at a time.
IN_TURN, ONE_PAIR = "all pages in turn", "one prediction as JSON"


class Load:
    """Clients that ask without a pause, and how long each answer took."""

    def __init__(self, explorer: Explorer, requests: Callable[[int], Iterator[Request]]) -> None:
        self.explorer = explorer
        self.requests = requests
        self.seconds: list[float] = []
        self.wrong: list[str] = []

    def run(self, clients: int, duration: float) -> None:
        """Run for some seconds."""
        end = time.monotonic() + duration
        threads = [threading.Thread(target=self._client, args=(i, end)) for i in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, number: int, end: float) -> None:
        connection = HTTPConnection("127.0.0.1", self.explorer.port, timeout=60)
        for method, address, body in self.requests(number):
            began = time.perf_counter()
            try:
                form = JSON if address.startswith("/api/") else HTMX
                connection.request(method, address, body, form if body else {})
                reply = connection.getresponse()
                reply.read()
                if reply.status != 200:
                    self.wrong.append(f"{reply.status} {address}")
            except (OSError, HTTPException) as error:
                self.wrong.append(f"{error!r} {address}")
                connection.close()
            self.seconds.append(time.perf_counter() - began)
            if time.monotonic() > end:
                break
        connection.close()


@contextmanager
def hostile(explorer: Explorer, hubs: Path, connections: int, dear: int) -> Iterator[None]:
    """Clients that mean no good, in a process of their own."""
    script = Path(__file__).with_name("hostile_clients.py")
    words = [sys.executable, str(script), str(explorer.port), "--hubs", str(hubs),
             "--connections", str(connections), "--dear", str(dear)]  # fmt: skip
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        time.sleep(3.0)  # all of them are there
        try:
            yield
        finally:
            process.communicate()


def phases(
    explorer: Explorer, names: list[str], json_only: bool, edits: bool
) -> dict[str, Callable[[int], Iterator[Request]]]:
    """What clients ask for: each kind of page alone, and all of them in turn."""
    sample = np.random.default_rng(0).choice(names, 300)  # after them everything is compiled
    texts = [explorer.get(f"/entity?name={name}") for name in sample]
    links = sorted(
        {html.unescape(x) for text in texts for x in re.findall(r'"(/link\?[^"]+)"', text)}
    )

    def search(rng: np.random.Generator) -> Request:
        name = names[rng.integers(len(names))]
        return "GET", f"/search?q={name[: rng.integers(2, len(name) + 1)]}", None

    def entity(rng: np.random.Generator) -> Request:
        return "GET", f"/entity?name={names[rng.integers(len(names))]}", None

    def reasons(rng: np.random.Generator) -> Request:
        return "GET", links[rng.integers(len(links))], None

    def edit(rng: np.random.Generator) -> Request:
        form = {"what": "weight", "rule": int(rng.integers(len(LENGTHS))),
                "weight": f"{3 * rng.random():.6f}"}  # fmt: skip
        return "POST", "/edit", urlencode(form)

    def prediction(rng: np.random.Generator) -> Request:
        pair = [names[rng.integers(len(names))] for _ in range(2)]
        return "POST", "/api/v1/predict", json.dumps({"pairs": [pair]})

    phase = itertools.count()

    def endless(
        *kinds: Callable[[np.random.Generator], Request],
    ) -> Callable[[int], Iterator[Request]]:
        def requests(number: int) -> Iterator[Request]:
            # never the same addresses twice: pages that were shown lately are kept
            rng = np.random.default_rng([number, next(phase)])
            while True:
                for kind in kinds:
                    yield kind(rng)

        return requests

    pages = {
        "search as one types": search,
        "entity with its new links": entity,
        "reasons and drawing": reasons,
        **({"rule edit": edit} if edits else {}),
    }
    shown = {name: endless(page) for name, page in pages.items()}
    asked = {ONE_PAIR: endless(prediction)}
    return asked if json_only else {**shown, IN_TURN: endless(*pages.values()), **asked}


def measure(
    explorer: Explorer, requests: Callable[[int], Iterator[Request]], clients: int, seconds: float
) -> list[str]:
    """One phase: cells of its row."""
    cpu, own, load = explorer.cpu(), time.process_time(), Load(explorer, requests)
    load.run(clients, seconds)
    times = 1000 * np.array(load.seconds)
    if load.wrong:
        print(f"{len(load.wrong)} of {len(times)} wrong, such as {load.wrong[:3]}", file=sys.stderr)
    return [
        f"{len(times):,}",
        str(len(load.wrong)),
        f"{len(times) / seconds:.0f}",
        *(f"{np.percentile(times, p):.0f}" for p in (50, 95, 99)),
        f"{1000 * (explorer.cpu() - cpu) / len(times):.1f}",
        f"{1000 * (time.process_time() - own) / len(times):.1f}",
        f"{os.getloadavg()[0]:.1f}",
    ]


def measured(
    explorer: Explorer,
    kinds: dict[str, Callable[[int], Iterator[Request]]],
    hubs: Path,
    options: argparse.Namespace,
) -> list[list[str]]:
    """Rows of all phases, without and with hostile clients beside."""
    rows = [
        [name, *measure(explorer, requests, options.clients, options.seconds)]
        for name, requests in kinds.items()
    ]
    for dear in (0, 2):
        with hostile(explorer, hubs, options.hostile, dear):
            for name in ("entity with its new links", IN_TURN, ONE_PAIR):
                if name in kinds:
                    cells = measure(explorer, kinds[name], options.clients, options.seconds)
                    beside = f"{options.hostile} hostile" + f" and {dear} dear" * bool(dear)
                    rows.append([f"{name}, {beside} beside", *cells])
    return rows


def growth(
    explorer: Explorer, requests: Callable[[int], Iterator[Request]], clients: int, n: int
) -> tuple[int, int]:
    """Bytes that the server holds after some requests, and after `n` more."""

    def held_after(total: int) -> int:
        some = Load(explorer, lambda k: itertools.islice(requests(k), total // clients))
        some.run(clients, np.inf)
        return explorer.resident()

    return held_after(SETTLED), held_after(n)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--hostile", type=int, default=500, help="connections")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--seconds", type=float, default=10.0, help="of every phase")
    parser.add_argument("--requests", type=int, default=50_000, help="between measures of memory")
    parser.add_argument("--json", action="store_true", help="only the scores of pairs, as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hornbeam-") as name:
        folder = Path(name)
        entities = write_data(folder, options.facts)
        for model in options.models:
            with serving(folder, model) as explorer:
                kinds = phases(explorer, entities, options.json, edits=model != "graph")
                rows = measured(explorer, kinds, folder / "hubs.txt", options)
                held = growth(explorer, kinds[ONE_PAIR], options.clients, options.requests)
            of = f"{options.facts:,} facts, {model} model"
            print(f"\n## Explorer: {of}, {options.clients} clients without a pause\n")
            print(markdown(HEADER, rows))
            before, after = (size / 1e6 for size in held)
            print(
                f"\nThe server holds {before:,.1f} MB, {after:,.1f} after {options.requests:,} "
                "more predictions.",
                flush=True,
            )
    finish()


if __name__ == "__main__":
    main()
