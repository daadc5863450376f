"""Which questions make sense, against counting by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.serve.graph_explorer import ExpectedSteps

triples = st.sets(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("pqr"), st.sampled_from("abcdef")),
    min_size=1,
)


@given(triples)
def test_shares_are_those_of_entities_with_a_common_step(some: set[tuple[str, str, str]]) -> None:
    facts = hb.read_facts(sorted(some))
    graph = LinkedGraph.of(facts)
    expected = ExpectedSteps(graph)
    steps = range(2, graph.step_limit)
    holders = {step: set(graph.holders(step).tolist()) for step in steps}
    for entity in range(graph.n_entities):
        own = [step for step in steps if entity in holders[step]]
        shares = expected.shares(entity)
        for step in steps:
            best = max(len(holders[s] & holders[step]) / (len(holders[s]) + 5) for s in own)
            assert np.isclose(shares[step], 1.0 if step in own else best)
