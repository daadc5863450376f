"""Graphs of NetworkX, and triples of PyKEEN, both known by what they offer: neither is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hornbeam.base.texts import quote
from hornbeam.errors import DataError
from hornbeam.facts.reading.property_graph import GraphItem, GraphReader


def is_networkx(frame: object) -> bool:
    """Whether an object is a graph of NetworkX."""
    return all(hasattr(frame, name) for name in ("is_directed", "is_multigraph", "nodes", "edges"))


def networkx_items(graph: Any, reader: GraphReader) -> Iterator[GraphItem]:  # noqa: ANN401
    """The items of a graph of NetworkX; of a multigraph, keys that are text are the predicates."""
    names: dict[object, str] = {}
    nodes: dict[str, object] = {}
    place = reader.place
    reader.place = f"{place}, nodes"
    for at, (node, attributes) in enumerate(graph.nodes(data=True), start=1):
        text = reader.name("node", str(node), at)
        if nodes.setdefault(text, node) is not node:
            raise reader.error(f"two nodes are called {quote(text)}; expected names of their own")
        names[node] = text
        yield from reader.attributes(at, text, _by_text(attributes))
    reader.place = f"{place}, edges"
    directed, keyed = graph.is_directed(), graph.is_multigraph()
    edges = graph.edges(keys=True, data=True) if keyed else graph.edges(data=True)
    for at, (start, end, *key, attributes) in enumerate(edges, start=1):
        predicate = key[0] if key and isinstance(key[0], str) else None
        ends = names[start], names[end]
        yield from reader.links(at, ends, _by_text(attributes), predicate, directed=directed)
    reader.place = place


def _by_text(attributes: dict[object, object]) -> dict[str, object]:
    return {str(name): value for name, value in attributes.items()}


def is_triples_factory(frame: object) -> bool:
    """Whether an object has triples of ids, as PyKEEN's `TriplesFactory`."""
    return hasattr(frame, "mapped_triples")


def triples_columns(factory: Any, name: str) -> dict[str, list[str]]:  # noqa: ANN401
    """The columns of a `TriplesFactory`; ids are their own names where it has no labels."""
    triples = factory.mapped_triples
    triples = np.asarray(triples.cpu() if hasattr(triples, "cpu") else triples)
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise DataError(name, f"mapped_triples has the shape {triples.shape}; expected (n, 3)")
    if not len(triples):
        raise DataError(name, "has no triples; expected at least one")
    columns = {}
    kinds = (("subject", "entity"), ("predicate", "relation"), ("object", "entity"))
    for (place, kind), ids in zip(kinds, triples.T.tolist(), strict=True):
        labels = getattr(factory, f"{kind}_id_to_label", None)
        unlabelled = [] if labels is None else sorted(set(ids).difference(labels))
        if unlabelled:
            raise DataError(name, f"the {kind} {unlabelled[0]} has no label; expected one each")
        columns[place] = [str(i if labels is None else labels[i]) for i in ids]
    return columns
