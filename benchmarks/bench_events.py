"""What the time of facts adds to rules for labelled pairs.

    HORNBEAM_DATA=../shared/data python benchmarks/bench_events.py

Events of ICEWS14 of the 12 commonest relations. At every week (`--every` days), pairs that have had
an event before are asked: will the first make a statement about the second within 7 days? All pairs
that will are asked, and `--others` more, drawn at random. Weeks of the training set teach, weeks
after it judge; average precision depends on how many others are asked. Rules have one atom. *Ever*
has no condition on time.

`--past copied` is a check: every time that is asked has a copy of all entities with the events
before it and no others. Its figures are those of `--past seen`, if nothing sees the future. `--past
shuffled` is a control: in every copy, events deal their times anew among themselves. What was ever
true is the same, and so is how often; only what happened lately is not.

`--distinct-times` measures instead what a search costs where every pair has a time of its own:
events and pairs at random seconds of a year, paths and open conditions.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from common import DATA, finish, markdown
from hornbeam import Facts, RuleLimits, Targets, learn, read_facts, read_labels
from hornbeam.base.dates import TimeUnit
from hornbeam.counting.opening import discover_bodies, open_engine
from hornbeam.counting.timed_engine import TimedEngine
from hornbeam.facts.events import Events
from hornbeam.language.time_brackets import EVER, TimeCondition
from hornbeam.rules.body import Kind

FOLDER = DATA / "icews14"
#: What is forecast, for how many days; relations that are evidence.
TARGET, SPAN, RELATIONS = "Make statement", 7, 12
#: Times that teach and times that judge, as days since the first event; every week by default.
TEACHING, JUDGING = (100, 250), (270, 358)
#: Average precision wanted with time; a prototype without it had .438 on pairs of its own drawing.
WANTED = 0.515


def icews_events() -> Facts:
    """All events of the commonest relations of the training set, with their days."""
    with gzip.open(FOLDER / "train.tsv.gz", "rt") as stream:
        train = [line.rstrip("\n").split("\t") for line in stream]
    common = {name for name, _ in Counter(row[1] for row in train).most_common(RELATIONS)}
    rows = list(train)
    for part in ("valid.tsv", "test.tsv"):
        rows += [line.split("\t") for line in (FOLDER / part).read_text().splitlines()]
    return read_facts([tuple(row) for row in rows if row[1] in common], time=4)


def asked(facts: Facts, days: Sequence[int], others: int, seed: int) -> Targets:
    """Pairs that are asked at some days, with what came true."""
    events, n = _events(facts), len(facts.entities)
    pair = events.subject.astype(np.int64) * n + events.object
    stated = events.predicate == facts.predicates.index(TARGET)
    first, rng, parts = int(events.time.min()), np.random.default_rng(seed), []
    for day in days:
        now = first + day
        seen = np.unique(pair[events.time < now])
        soon = (events.time >= now) & (events.time < now + SPAN) & stated
        true = np.intersect1d(seen, pair[soon])
        rest = np.setdiff1d(seen, true)
        drawn = rng.choice(rest, min(others, len(rest)), replace=False)
        pairs = np.concatenate([true, np.sort(drawn)])
        parts.append((pairs, np.full(len(pairs), now), np.arange(len(pairs)) < len(true)))
    pairs, when, label = (np.concatenate(part) for part in zip(*parts, strict=True))
    subject, object_ = (ends.astype(np.int32) for ends in np.divmod(pairs, n))
    targets = Targets.between(facts.entities, "states_soon", subject, object_)
    millionths = (label * 1_000_000).astype(np.int32)
    return replace(targets, millionths=millionths, time=when.astype(np.int64), unit=TimeUnit.DAY)


def copied_past(facts: Facts, pairs: Targets, seed: int | None) -> tuple[Facts, Targets]:
    """Copies of the entities per asked time, with the earlier events; a seed deals times anew."""
    assert pairs.time is not None
    events, relations = _events(facts), np.array(list(facts.predicates))
    entities, asked_entities = (np.array(list(names)) for names in (facts.entities, pairs.entities))
    rng, known, copies = np.random.default_rng(seed), [], []
    for day in np.unique(pairs.time).tolist():
        past, rows = events.select(events.time < day), np.flatnonzero(pairs.time == day)
        time = past.time if seed is None else rng.permutation(past.time)
        ends = (np.char.add(entities[side], f" {day}") for side in (past.subject, past.object))
        known.append((*ends, relations[past.predicate], time))
        ends = (asked_entities[side[rows]] for side in (pairs.subject, pairs.object))
        label = pairs.positive[rows].astype(np.int64)
        copies.append((*(np.char.add(names, f" {day}") for names in ends), pairs.time[rows], label))
    subject, object_, predicate, when = map(np.concatenate, zip(*known, strict=True))
    table = {"subject": subject, "predicate": predicate, "object": object_}
    table["when"] = when.astype("datetime64[D]")
    subject, object_, when, label = map(np.concatenate, zip(*copies, strict=True))
    asked_table = {
        "subject": subject,
        "predicate": np.full(len(subject), "states_soon"),
        "object": object_,
    }
    asked_table |= {"when": when.astype("datetime64[D]"), "label": label}
    return read_facts(table, time="when"), read_labels(asked_table, time="when")


def _events(facts: Facts) -> Events:
    assert facts.events is not None
    return facts.events


class OnlyEver(TimedEngine):
    """An engine that tries no condition on time."""

    def conditions(self) -> list[TimeCondition]:
        """What was ever true."""
        return [EVER]

    def over(self, facts: Facts) -> OnlyEver:
        """The same over other facts."""
        return OnlyEver(facts, self.inner)


def labelled(given: argparse.Namespace, method: str, seed: int) -> list[tuple[object, ...]]:
    """Rows of the table: figures of models with conditions on time and without, and CPU seconds."""
    everything = icews_events()
    worlds = []
    for part, days in enumerate((TEACHING, JUDGING)):
        pairs = asked(everything, range(*days, given.every), given.others, 2 * seed + part)
        facts = everything
        if given.past != "seen":
            dealt = 2 * seed + part if given.past == "shuffled" else None
            facts, pairs = copied_past(everything, pairs, dealt)
        worlds.append((facts, pairs))
    [(facts, teaching), (judged_facts, judging)] = worlds
    print(f"{teaching}, {judging}")
    rows = list[tuple[object, ...]]()
    for name in ("ever", "with time"):
        engine = open_engine(facts)
        assert isinstance(engine, TimedEngine)
        if name == "ever":
            engine = OnlyEver(engine.facts, engine.inner)
        clock = time.process_time()
        model = learn(engine, teaching, method=method, language=RuleLimits(max_length=1))
        seconds = time.process_time() - clock
        found = model.evaluate(judged_facts, judging)
        heaviest = sorted(model.rules, key=lambda rule: -rule.weight)[1:5]
        texts = [f"{rule.weight:.2f}: {model.clause_text(rule.clause)}" for rule in heaviest]
        print(name, *texts, sep="\n  ")
        figures = f"{found.auc_pr:.3f}", f"{found.auc_roc:.3f}", len(model.rules)
        rows.append((method, given.past, seed, name, *figures, f"{seconds:.0f}"))
    return rows


def distinct_times(n_events: int, n_pairs: int, max_length: int) -> tuple[object, ...]:
    """CPU seconds of a search and its counts, and how many candidates it found."""
    rng = np.random.default_rng(0)

    def drawn(n: int, predicates: int, first: int) -> dict[str, object]:
        seconds = rng.integers(first, 86_400 * 365, size=n).astype("datetime64[s]")
        ends = rng.integers(5000, size=(2, n))
        names = [[f"e{k}" for k in side] for side in ends]
        predicate = [f"p{k}" for k in rng.integers(predicates, size=n)]
        return {"subject": names[0], "predicate": predicate, "object": names[1], "when": seconds}

    facts = read_facts(drawn(n_events, 10, 0), time="when")
    pairs = drawn(n_pairs, 1, 86_400 * 100) | {"label": rng.integers(0, 2, size=n_pairs)}
    labels = read_labels(pairs, time="when")
    engine, limits = open_engine(facts, threads=1), RuleLimits(max_length=max_length)
    limits = replace(limits, bodies=(Kind.PATH, Kind.OPEN))
    clock = time.process_time()
    found = discover_bodies(engine, labels, limits)
    seconds = f"{time.process_time() - clock:.1f}"
    times = len(np.unique(labels.times))
    return n_events, n_pairs, times, max_length, len(found.candidates), seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", type=int, default=1500)
    parser.add_argument("--every", type=int, default=7, help="days between times that are asked")
    parser.add_argument("--methods", default="joint")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="which others are drawn")
    parser.add_argument("--past", choices=["seen", "copied", "shuffled"], default="seen")
    parser.add_argument("--distinct-times", action="store_true")
    given = parser.parse_args()
    if given.distinct_times:
        sizes = ((50_000, 1000), (50_000, 10_000), (200_000, 10_000))
        costs = [distinct_times(*size, length) for size in sizes for length in (1, 2)]
        header = ("events", "pairs", "times", "length", "candidates", "CPU s")
        print(markdown(header, costs))
        finish()
        return
    rows = [
        row
        for method in given.methods.split(",")
        for seed in given.seeds
        for row in labelled(given, method, seed)
    ]
    columns = ("method", "past", "seed", "facts", "average precision", "AUC-ROC", "rules", "CPU s")
    print(markdown(columns, rows))
    if any(row[3] == "with time" and float(str(row[4])) < WANTED for row in rows):
        print(f"Average precision with time is below {WANTED}.")
    finish()


if __name__ == "__main__":
    main()
