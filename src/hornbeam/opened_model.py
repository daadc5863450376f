"""Opening a model file, whichever kind of model it holds: the one place that tells them apart."""

from __future__ import annotations

import os

from hornbeam.errors import InputError
from hornbeam.model import Model

#: How the first line of a model of a whole graph begins.
GRAPH_MARK = "# hornbeam-graph:"


def open_model(path: str | os.PathLike[str]) -> Model:
    """Open a file of rules of targets; a model of a whole graph is refused.

    Commands that know both kinds ask `is_graph_model` first.
    """
    if is_graph_model(path):
        raise InputError(f"{os.fspath(path)}: is a model of a whole graph; expected a rule model")
    return Model.load(path)


def is_graph_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as models of whole graphs do; what cannot be read does not."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(GRAPH_MARK)) == GRAPH_MARK.encode()
    except OSError:
        return False
