"""Hornbeam learns weighted first-order rules from relational facts and predicts missing links.

The public names are in the order of the data flow. Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornbeam import counting as counting
from hornbeam import datasets as datasets
from hornbeam import errors as errors
from hornbeam.base.version import __version__ as __version__

_HOMES = {
    "read_facts": "hornbeam.facts.reading.readers",
    "read_numbers": "hornbeam.facts.reading.readers",
    "read_table": "hornbeam.facts.reading.readers",
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

if TYPE_CHECKING:
    from hornbeam.base.result_table import ResultTable as ResultTable
    from hornbeam.counting.sql.duckdb_engine import open_duckdb as open_duckdb
    from hornbeam.counting.sql.spark_engine import open_spark as open_spark
    from hornbeam.crossval import cross_validate as cross_validate
    from hornbeam.explaining.explanation import Explanation as Explanation
    from hornbeam.facts.known import with_known as with_known
    from hornbeam.facts.reading.readers import read_facts as read_facts
    from hornbeam.facts.reading.readers import read_labels as read_labels
    from hornbeam.facts.reading.readers import read_names as read_names
    from hornbeam.facts.reading.readers import read_numbers as read_numbers
    from hornbeam.facts.reading.readers import read_pairs as read_pairs
    from hornbeam.facts.reading.readers import read_table as read_table
    from hornbeam.facts.table import Facts as Facts
    from hornbeam.facts.table import Targets as Targets
    from hornbeam.flow import learn as learn
    from hornbeam.graph_learning import learn_graph as learn_graph
    from hornbeam.graph_model import GraphModel as GraphModel
    from hornbeam.graphs.graph_settings import GraphSettings as GraphSettings
    from hornbeam.learning.boost import Boost as Boost
    from hornbeam.learning.greedy import Greedy as Greedy
    from hornbeam.learning.joint import Joint as Joint
    from hornbeam.learning.ppll import Ppll as Ppll
    from hornbeam.model import Model as Model
    from hornbeam.opened_model import load as load
    from hornbeam.programs.inference import infer as infer
    from hornbeam.programs.program import read_program as read_program
    from hornbeam.programs.program_weights import learn_weights as learn_weights
    from hornbeam.ranking.named_queries import read_queries as read_queries
    from hornbeam.ranking.rank_evaluation import GraphEvaluation as GraphEvaluation
    from hornbeam.rules.candidates import Candidates as Candidates
    from hornbeam.rules.candidates import RuleLimits as RuleLimits
    from hornbeam.scoring.evaluation import Evaluation as Evaluation

__all__ = sorted([*_HOMES, "__version__", "counting", "datasets", "errors"])


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'hornbeam' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
