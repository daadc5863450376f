"""Hornbeam learns weighted first-order rules from relational facts and predicts missing links.

The public names, in the order of the data flow; each loads what it needs when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornbeam import errors

__version__ = "0.1.0"

_HOMES = {
    "read_facts": "hornbeam.facts.reading.readers",
    "read_labels": "hornbeam.facts.reading.readers",
    "read_pairs": "hornbeam.facts.reading.readers",
    "Facts": "hornbeam.facts.table",
    "Targets": "hornbeam.facts.table",
    "Language": "hornbeam.rules.candidates",
    "Candidates": "hornbeam.rules.candidates",
    "Statistics": "hornbeam.counting.statistics",
    "open_duckdb": "hornbeam.counting.sql.duckdb_engine",
    "open_spark": "hornbeam.counting.sql.spark_engine",
    "select_target": "hornbeam.model",
    "discover": "hornbeam.model",
    "learn": "hornbeam.model",
    "Model": "hornbeam.model",
    "Evaluation": "hornbeam.reporting.evaluation",
    "read_program": "hornbeam.programs.program",
    "infer": "hornbeam.programs.inference",
    "learn_weights": "hornbeam.programs.program_weights",
    "save_text": "hornbeam.files",
}

if TYPE_CHECKING:
    from hornbeam.counting.sql.duckdb_engine import open_duckdb
    from hornbeam.counting.sql.spark_engine import open_spark
    from hornbeam.counting.statistics import Statistics
    from hornbeam.facts.reading.readers import read_facts, read_labels, read_pairs
    from hornbeam.facts.table import Facts, Targets
    from hornbeam.files import save_text
    from hornbeam.model import Model, discover, learn, select_target
    from hornbeam.programs.inference import infer
    from hornbeam.programs.program import read_program
    from hornbeam.programs.program_weights import learn_weights
    from hornbeam.reporting.evaluation import Evaluation
    from hornbeam.rules.candidates import Candidates, Language

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
