"""Answers by all kinds of rules, however they are counted, against brute force."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import Score
from hornbeam.ranking.queries import Queries
from hornbeam.scoring import proposals
from tests.support.proposed import proposable_pairs
from tests.support.rich_worlds import (
    ENTITIES,
    RichWorld,
    pairs_of,
    rich_models,
    rich_worlds,
)

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")


@settings(max_examples=60)
@given(rich_worlds(), rich_models(), st.sampled_from(list(Score)), st.sampled_from([1, 2, 100]))
def test_answers_are_what_rules_speak_for_by_their_scores(
    world: RichWorld, model: hb.Model, score: Score, block: int
) -> None:
    ranker = model.ranker(world.facts, score=score, threads=1)
    n = len(ENTITIES)
    ids = np.tile(np.arange(n, dtype=np.int32), 2)
    relation = np.full(2 * n, ranker.facts.predicates.index("t"), dtype=np.int32)
    with patch.object(proposals, "MAX_STARTS", block):
        found = ranker.answers(Queries(relation, ids, np.repeat([False, True], n)))
    for near in (0, 1):
        expected = proposable_pairs(model, world, "t")
        proposed = {}
        for i in range(near * n, near * n + n):
            rows = slice(found.offsets[i], found.offsets[i + 1])
            scores = found.scores[rows].tolist()
            assert scores == sorted(scores, reverse=True)
            for entity, value in zip(found.entities[rows].tolist(), scores, strict=True):
                pair = (ENTITIES[ids[i]], "t", ENTITIES[entity])
                proposed[pair if near == 0 else pair[::-1]] = value
        assert set(proposed) == expected
        if proposed:
            exact = model.predict(world.facts, pairs_of(*proposed), score=score, threads=1)["score"]
            assert list(proposed.values()) == pytest.approx(exact.tolist(), rel=1e-9)


@settings(max_examples=60)
@given(rich_worlds(), rich_models())
def test_equal_strengths_tie(world: RichWorld, model: hb.Model) -> None:
    """Where strengths are added up end by end, candidates that are alike score alike."""
    ranker = model.ranker(world.facts, threads=1)
    ids = np.arange(len(ENTITIES), dtype=np.int32)
    relation = np.full(len(ids), ranker.facts.predicates.index("t"), dtype=np.int32)
    queries = Queries(relation, ids, np.zeros(len(ids), dtype=np.bool_))
    found = ranker.answers(queries)
    with patch.object(proposals, "is_plain", lambda *_: False):
        exact = model.ranker(world.facts, threads=1).answers(queries)
    assert found.offsets.tolist() == exact.offsets.tolist()
    assert found.scores.tolist() == pytest.approx(exact.scores.tolist(), rel=1e-9)
