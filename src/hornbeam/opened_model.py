"""Opening a model file of either kind: the one place that distinguishes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hornbeam.errors import InputError
from hornbeam.graphs.graph_mark import is_graph_model
from hornbeam.learning.trace import trace_of
from hornbeam.model import Model

if TYPE_CHECKING:
    from hornbeam.graph_model import GraphModel

T = TypeVar("T")


def load(path: str | os.PathLike[str]) -> Model | GraphModel:
    """Open a model file of either kind: rules of targets, or a model of a whole graph.

    Raises
    ------
    hornbeam.errors.DataError
        Where the file cannot be read, or is no model, with the line.

    Examples
    --------
    >>> import hornbeam as hb
    >>> hb.load("countries.psl")  # doctest: +SKIP
    Model(28 rules for in_region)
    """
    if not is_graph_model(path):
        return Model.load(path)
    from hornbeam.graph_model import GraphModel

    return GraphModel.load(path)


def with_model(
    path: str | os.PathLike[str], rules: Callable[[Model], T], graph: Callable[[GraphModel], T]
) -> T:
    """Open a model and hand it to the function for its kind: rules of targets, or a whole graph."""
    model = load(path)
    return rules(model) if isinstance(model, Model) else graph(model)


def open_rule_model(path: str | os.PathLike[str]) -> Model:
    """Open a file of rules of targets; a model of a whole graph is refused."""

    def refuse(_: GraphModel) -> Model:
        raise InputError(f"{os.fspath(path)}: is a model of a whole graph; expected a rule model")

    return with_model(path, lambda model: model, refuse)


def with_trace(model: Model, path: str | os.PathLike[str]) -> Model:
    """A model with how it was learned, by the trace next to its file.

    Versions up to 0.8 wrote there alone that negatives were sampled.
    """
    trace, semantics = trace_of(Path(path)), model.semantics
    if trace is not None and trace.sampled_negatives is not None:
        semantics = replace(semantics, sampled_negatives=trace.sampled_negatives)
    return replace(model, trace=trace, semantics=semantics)
