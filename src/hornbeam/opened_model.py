"""Opening a model file of either kind: the one place that distinguishes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from hornbeam.errors import InputError
from hornbeam.graphs.graph_mark import is_graph_model
from hornbeam.model import Model

if TYPE_CHECKING:
    from hornbeam.graphs.graph_model import GraphModel

T = TypeVar("T")


def with_model(
    path: str | os.PathLike[str], rules: Callable[[Model], T], graph: Callable[[GraphModel], T]
) -> T:
    """Open a model and hand it to the function for its kind: rules of targets, or a whole graph."""
    if not is_graph_model(path):
        return rules(Model.load(path))
    from hornbeam.graphs.graph_model import GraphModel

    return graph(GraphModel.load(path))


def open_rule_model(path: str | os.PathLike[str]) -> Model:
    """Open a file of rules of targets; a model of a whole graph is refused."""

    def refuse(_: GraphModel) -> Model:
        raise InputError(f"{os.fspath(path)}: is a model of a whole graph; expected a rule model")

    return with_model(path, lambda model: model, refuse)
