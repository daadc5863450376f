"""The first characters of model files of whole graphs, which distinguish them from rule models."""

from __future__ import annotations

import os

GRAPH_MARK = "# hornbeam-graph:"


def is_graph_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as models of whole graphs do; false if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(GRAPH_MARK)) == GRAPH_MARK.encode()
    except OSError:
        return False
