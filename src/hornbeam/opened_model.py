"""Opening a model file of either kind: a rule model, or a model of a whole graph."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hornbeam.learning.trace import trace_of
from hornbeam.model import Model
from hornbeam.rules.model_file import is_graph_model

if TYPE_CHECKING:
    from hornbeam.graph_model import GraphModel


def load(path: str | os.PathLike[str]) -> Model | GraphModel:
    """Open a model file of either kind: a rule model, or a model of a whole graph.

    Raises
    ------
    hornbeam.errors.DataError
        If the file cannot be read, or is not a model; the error names the line.

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


def load_with_trace(path: str | os.PathLike[str]) -> Model | GraphModel:
    """Open a model file; a rule model gets its trace, from the file next to the model file.

    The trace also says whether negatives were sampled; up to 0.8, model files did not.
    """
    model = load(path)
    if not isinstance(model, Model):
        return model
    trace, semantics = trace_of(Path(path)), model.semantics
    if trace is not None and trace.sampled_negatives is not None:
        semantics = replace(semantics, sampled_negatives=trace.sampled_negatives)
    return replace(model, trace=trace, semantics=semantics)
