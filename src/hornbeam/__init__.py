"""Hornbeam learns weighted first-order rules from relational facts and predicts missing links.

The public names, in the order of the data flow; each loads what it needs when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornbeam import errors

__version__ = "0.1.0"

_HOMES = {
    "read_facts": "hornbeam.facts.readers",
    "read_labels": "hornbeam.facts.readers",
    "read_pairs": "hornbeam.facts.readers",
    "Facts": "hornbeam.facts.table",
    "Targets": "hornbeam.facts.table",
    "Language": "hornbeam.clauses.candidates",
    "Candidates": "hornbeam.clauses.candidates",
    "Statistics": "hornbeam.statistics.table",
    "open_duckdb": "hornbeam.statistics.duckdb",
    "open_spark": "hornbeam.statistics.spark",
    "select_target": "hornbeam.model",
    "discover": "hornbeam.model",
    "learn": "hornbeam.model",
    "Model": "hornbeam.model",
    "Evaluation": "hornbeam.results.evaluation",
    "read_program": "hornbeam.clauses.program",
    "infer": "hornbeam.programs",
    "learn_weights": "hornbeam.programs",
    "save_text": "hornbeam.files",
}

if TYPE_CHECKING:
    from hornbeam.clauses.candidates import Candidates, Language
    from hornbeam.clauses.program import read_program
    from hornbeam.facts.readers import read_facts, read_labels, read_pairs
    from hornbeam.facts.table import Facts, Targets
    from hornbeam.files import save_text
    from hornbeam.model import Model, discover, learn, select_target
    from hornbeam.programs import infer, learn_weights
    from hornbeam.results.evaluation import Evaluation
    from hornbeam.statistics.duckdb import open_duckdb
    from hornbeam.statistics.spark import open_spark
    from hornbeam.statistics.table import Statistics

__all__ = [
    "Candidates",
    "Evaluation",
    "Facts",
    "Language",
    "Model",
    "Statistics",
    "Targets",
    "__version__",
    "discover",
    "errors",
    "infer",
    "learn",
    "learn_weights",
    "open_duckdb",
    "open_spark",
    "read_facts",
    "read_labels",
    "read_pairs",
    "read_program",
    "save_text",
    "select_target",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'hornbeam' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
