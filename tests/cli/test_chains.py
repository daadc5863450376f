"""Chains through the commands, where no path connects a pair."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.commands import hornbeam_, write

FACTS = ("--facts", "facts.tsv")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """People like anything if they visit a shop in the north, but for one in twenty."""
    rng, facts, labels = random.Random(3), list[tuple[str, ...]](), list[tuple[str, ...]]()
    for shop in range(12):
        facts.append((f"shop {shop}", "lies_in", "the 'north'" if shop % 3 == 0 else "south"))
    for person in range(90):
        shops = rng.sample(range(12), 2)
        facts += [(f"p{person}", "visits", f"shop {shop}") for shop in shops]
        likes = any(shop % 3 == 0 for shop in shops) != (rng.random() < 0.05)
        item = f"i{rng.randrange(6)}"
        facts.append((item, "sold", "yes"))
        labels.append((f"p{person}", "likes", item, str(int(likes))))
    write(tmp_path / "facts.tsv", sorted(set(facts)))
    write(tmp_path / "train.tsv", labels[:60])
    write(tmp_path / "test.tsv", labels[60:])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_learn_predict_and_explain(folder: Path) -> None:
    hornbeam_("learn", *FACTS, "--labels", "train.tsv", "--bodies", "paths,chains", "-o", "m.psl")
    written = (folder / "m.psl").read_text()
    chain = "visits(A, C) & lies_in(C, 'the \\'north\\'') -> likes(A, B)"
    assert chain in written
    figures = hornbeam_("evaluate", "m.psl", *FACTS, "--labels", "test.tsv", "--json").json
    assert figures["auc_roc"] > 0.85
    rows = hornbeam_("predict", "m.psl", *FACTS, "--pairs", "test.tsv").rows
    assert rows == hornbeam_(
        "predict", "m.psl", *FACTS, "--pairs", "test.tsv", "--engine", "duckdb"
    ).rows  # fmt: skip
    subject, _, object_, score = max(rows, key=lambda row: float(row[3]))
    told = hornbeam_("explain", "m.psl", *FACTS, subject, object_, "--json").json
    assert told["score"] == pytest.approx(float(score), rel=1e-5)
    assert told["reasons"][0]["rule"].startswith(chain)
    [grounding] = told["reasons"][0]["groundings"]
    first, shop, last = grounding["entities"]
    assert (first, last) == (subject, "the 'north'")
    shown = hornbeam_("explain", "m.psl", *FACTS, subject, object_).stdout
    assert f"{subject} -visits-> {shop} -lies_in-> the 'north'" in shown
    # without the facts that flip the decision, the score is what was said
    flip = {(fact["subject"], fact["predicate"], fact["object"]) for fact in told["flip"]["facts"]}
    kept = [tuple(line.split("\t")) for line in (folder / "facts.tsv").read_text().splitlines()]
    write(folder / "fewer.tsv", [fact for fact in kept if fact not in flip])
    less = hornbeam_("explain", "m.psl", "--facts", "fewer.tsv", subject, object_, "--json").json
    assert less["decision"] is not told["decision"]
    assert less["score"] == pytest.approx(told["flip"]["score"])


def test_an_exported_chain_infers_the_same_states(folder: Path) -> None:
    (folder / "m.psl").write_text(
        "1.5: visits(A, C) & lies_in(C, 'south') -> likes(A, B)\n"
        "0.8: visits(A, C) & visits(D, C) -> !likes(A, B)\n1.0: !likes(A, B)\n"
    )
    hornbeam_("export", "m.psl", *FACTS, "--pairs", "test.tsv", "-o", "program")
    hornbeam_("infer", "program/program.json", "-o", "inferred")
    states = [
        line.split("\t") for line in (folder / "inferred" / "LIKES.txt").read_text().splitlines()
    ]
    rows = hornbeam_("predict", "m.psl", *FACTS, "--pairs", "test.tsv", "--score", "map").rows
    assert {(a, b): float(state) for a, b, state in states} == pytest.approx(
        {(a, b): float(state) for a, _, b, state in rows}, abs=1e-4
    )
