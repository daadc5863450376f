"""The length of paths: walks are forecast exactly, budgets bound them, held-out facts confirm."""

from dataclasses import replace

import pytest
from hypothesis import given

import hornbeam as hb
from hornbeam.graphs import path_lengths
from hornbeam.graphs.graph_settings import Extent, GraphSettings
from hornbeam.graphs.linked_graph import n_walks
from hornbeam.graphs.memory_graph import open_graph
from hornbeam.graphs.path_lengths import affordable_length, forecast_walks
from tests.support.brute_graphs import Triple, graph_of, triples
from tests.support.recorded_progress import RecordedProgress

SMALL = GraphSettings(
    constants=False, backward=False, ridge=False, slots=False,
    extent=Extent(sampled=40, found=60, judged=60, kept=30, counted=60, folds=4, hidden=1),
)  # fmt: skip


@given(triples)
def test_walks_are_counted_as_by_enumeration(some: set[Triple]) -> None:
    graph, links = graph_of(some), [(s, o) for s, _, o in some]
    links += [(o, s) for s, o in links]
    walks = [[v] for v in range(graph.n_entities)]
    for length in range(1, 4):
        walks = [[*walk, o] for walk in walks for s, o in links if s == walk[-1]]
        assert n_walks(graph, length) == len(walks)


def ring(n: int, hub: bool) -> list[tuple[str, str, str]]:
    """A ring of n entities along two relations, whose entities may all be linked to one more."""
    rows = [(f"e{i}", f"r{i % 2}", f"e{(i + 1) % n}") for i in range(n)]
    return rows + [(f"e{i}", "in", "hub") for i in range(n)] * hub


def test_hubs_make_paths_shorter() -> None:
    even, hub = (open_graph(hb.read_facts(ring(400, hub)), SMALL) for hub in (False, True))
    extent = Extent()
    # from every one of 400 links, in both directions, there are 2^k walks of k steps
    assert forecast_walks(even, 5, extent) == 800 * 2**5
    assert affordable_length(even, extent) == (5, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_lengths, "MAX_WALKS", 1e6)
        assert affordable_length(even, extent) == (5, None)
        length, message = affordable_length(hub, extent)
    assert length == 3
    assert message is not None
    assert message.startswith("Paths of up to 3 steps: counting rules of 4 steps would take ")


def test_memory_and_database_forecast_alike() -> None:
    rows = ring(60, hub=True)
    memory = open_graph(hb.read_facts(rows), SMALL)
    with hb.open_duckdb(rows) as engine:
        database = open_graph(engine, SMALL)
        for length in range(1, 7):
            assert memory.n_walks(length) == database.n_walks(length)


def chains(n: int, steps: int) -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """Chains of entities whose ends are linked by `t`; the last links by `t` are held out."""
    rows = [(f"e{i}_{k}", f"r{k}", f"e{i}_{k + 1}") for i in range(n) for k in range(steps)]
    ends = [(f"e{i}_0", "t", f"e{i}_{steps}") for i in range(n)]
    return rows + ends[: n // 2], ends[n // 2 :]


@pytest.mark.parametrize(("steps", "length"), [(5, 5), (2, 3)])
def test_held_out_facts_choose_the_length(steps: int, length: int) -> None:
    train, valid = chains(240, steps)
    learned = []
    for threads in (1, 2):
        progress = RecordedProgress()
        learned.append(
            hb.learn_graph(train, valid, settings=SMALL, progress=progress, threads=threads)
        )
        (message,) = [text for text in progress.messages if text.startswith("Paths of up to")]
        assert message.startswith(f"Paths of up to {length} steps: on held-out facts the MRR is ")
    first, second = learned
    assert first.max_length == length
    assert first.text == second.text


def test_held_out_facts_decide_on_constants_fitted_together_in_large_graphs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # who speaks a language lives where it is spoken: that takes constants, and no path has them
    rows = [(f"p{i:03}", "speaks", f"language{i % 7}") for i in range(280)]
    ends = [(f"p{i:03}", "lives_in", f"land{i % 7 * 3 % 7}") for i in range(280)]
    noise = [(f"p{i:03}", "likes", f"thing{i * i % 11}") for i in range(280)]
    settings = replace(SMALL, ridge=True)
    for gain, valid, stays in (
        (-1.0, ends[::2], True),
        (1.0, ends[::2], False),
        (0.0, None, False),
    ):
        monkeypatch.setattr(path_lengths, "MANY_ENTITIES", 100)
        monkeypatch.setattr(path_lengths, "MIN_GAIN", gain)
        progress = RecordedProgress()
        model = hb.learn_graph(
            rows + noise + ends[1::2], valid, settings=settings, progress=progress, max_length=2
        )
        said = [text for text in progress.messages if text.startswith("Constants are not fitted")]
        assert len(said) == (0 if stays else 1)
        assert stays or model.ridge is None
