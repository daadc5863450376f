"""Hornbeam learns weighted first-order rules from relational facts and predicts missing links.

The public names, in the order of the data flow; each loads what it needs when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornbeam import counting, datasets, errors

__version__ = "0.8.2"

_HOMES = {
    "read_facts": "hornbeam.facts.reading.readers",
    "read_labels": "hornbeam.facts.reading.readers",
    "read_pairs": "hornbeam.facts.reading.readers",
    "read_names": "hornbeam.facts.reading.readers",
    "read_queries": "hornbeam.ranking.named_queries",
    "Facts": "hornbeam.facts.table",
    "Targets": "hornbeam.facts.table",
    "RuleLimits": "hornbeam.rules.candidates",
    "Candidates": "hornbeam.rules.candidates",
    "open_duckdb": "hornbeam.counting.sql.duckdb_engine",
    "open_spark": "hornbeam.counting.sql.spark_engine",
    "with_known": "hornbeam.facts.known",
    "Joint": "hornbeam.learning.joint",
    "Boost": "hornbeam.learning.boost",
    "Ppll": "hornbeam.learning.ppll",
    "Greedy": "hornbeam.learning.greedy",
    "learn": "hornbeam.flow",
    "load": "hornbeam.opened_model",
    "Model": "hornbeam.model",
    "Explanation": "hornbeam.explaining.explanation",
    "Evaluation": "hornbeam.scoring.evaluation",
    "GraphEvaluation": "hornbeam.ranking.rank_evaluation",
    "ResultTable": "hornbeam.base.result_table",
    "cross_validate": "hornbeam.crossval",
    "learn_graph": "hornbeam.graph_learning",
    "GraphSettings": "hornbeam.graphs.graph_settings",
    "GraphModel": "hornbeam.graph_model",
    "read_program": "hornbeam.programs.program",
    "infer": "hornbeam.programs.inference",
    "learn_weights": "hornbeam.programs.program_weights",
}
#: Names of the version before, which warn.
_NEW_NAMES = {
    "Language": "hornbeam.RuleLimits",
    "Statistics": "hornbeam.counting.Statistics",
    "Discovery": "hornbeam.counting.Discovery",
    "discover": "hornbeam.counting.discover",
    "GraphExplanation": "hornbeam.Explanation",
}

if TYPE_CHECKING:
    from hornbeam.base.result_table import ResultTable
    from hornbeam.counting.sql.duckdb_engine import open_duckdb
    from hornbeam.counting.sql.spark_engine import open_spark
    from hornbeam.crossval import cross_validate
    from hornbeam.explaining.explanation import Explanation
    from hornbeam.facts.known import with_known
    from hornbeam.facts.reading.readers import read_facts, read_labels, read_names, read_pairs
    from hornbeam.facts.table import Facts, Targets
    from hornbeam.flow import learn
    from hornbeam.graph_learning import learn_graph
    from hornbeam.graph_model import GraphModel
    from hornbeam.graphs.graph_settings import GraphSettings
    from hornbeam.learning.boost import Boost
    from hornbeam.learning.greedy import Greedy
    from hornbeam.learning.joint import Joint
    from hornbeam.learning.ppll import Ppll
    from hornbeam.model import Model
    from hornbeam.opened_model import load
    from hornbeam.programs.inference import infer
    from hornbeam.programs.program import read_program
    from hornbeam.programs.program_weights import learn_weights
    from hornbeam.ranking.named_queries import read_queries
    from hornbeam.ranking.rank_evaluation import GraphEvaluation
    from hornbeam.rules.candidates import Candidates, RuleLimits
    from hornbeam.scoring.evaluation import Evaluation

__all__ = [
    "Boost",
    "Candidates",
    "Evaluation",
    "Explanation",
    "Facts",
    "GraphEvaluation",
    "GraphModel",
    "GraphSettings",
    "Greedy",
    "Joint",
    "Model",
    "Ppll",
    "ResultTable",
    "RuleLimits",
    "Targets",
    "__version__",
    "counting",
    "cross_validate",
    "datasets",
    "errors",
    "infer",
    "learn",
    "learn_graph",
    "learn_weights",
    "load",
    "open_duckdb",
    "open_spark",
    "read_facts",
    "read_labels",
    "read_names",
    "read_pairs",
    "read_program",
    "read_queries",
    "with_known",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name not in _NEW_NAMES:
        raise AttributeError(f"module 'hornbeam' has no attribute {name!r}")
    home, _, new_name = _NEW_NAMES[name].rpartition(".")
    errors.warn_of_old_name(f"`hornbeam.{name}`", f"`{_NEW_NAMES[name]}`")
    return getattr(import_module(home), new_name)


def __dir__() -> list[str]:
    return __all__
