"""What the trace says of candidates is what happened to them."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.learning.learner import LEARNERS


def world() -> tuple[hb.Facts, hb.Targets]:
    """`p` tells the label, `twin` repeats it, `noise` does not know it."""
    rng = np.random.default_rng(0)
    pairs = [(f"s{k}", f"o{k}") for k in range(60)]
    truth = [k % 2 == 0 for k in range(60)]
    facts = [(s, name, o) for (s, o), true in zip(pairs, truth, strict=True) if true
             for name in ("p", "twin")]  # fmt: skip
    facts += [(s, "noise", o) for s, o in pairs if rng.random() < 0.5]
    labels = [(s, "t", o, float(true)) for (s, o), true in zip(pairs, truth, strict=True)]
    return hb.read_facts(facts), hb.read_labels(labels)


@pytest.mark.parametrize("method", list(LEARNERS))
def test_every_candidate_has_an_outcome(method: str) -> None:
    model = hb.learn(*world(), method=method, language=hb.Language(max_length=1, min_coverage=1))
    rows = {row["clause"]: row for row in model.trace["candidates"]}
    assert set(rows) == {f"{name}(A, B) -> t(A, B)" for name in ("p", "twin", "noise")}
    kept = {str(rule.clause) for rule in model.rules}
    for clause, row in rows.items():
        negated = clause.replace("-> t", "-> !t")
        assert row["kept"] == (clause in kept or negated in kept)
        assert row["outcome"].startswith("weight ") == (row["kept"] or method == "ppll")
    assert rows["p(A, B) -> t(A, B)"]["kept"]
    if method != "ppll":
        assert rows["twin(A, B) -> t(A, B)"]["outcome"] == (
            "same counts on every pair as p(A, B) -> t(A, B)"
        )
    assert model.trace["method"] == method
    assert model.trace["language"]["min_coverage"] == 1
