"""Choices that users make by name; the modules that act on a choice are slow to import."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal


class EngineName(StrEnum):
    """The engine that holds the facts and counts paths."""

    MEMORY = "memory"  #: facts in memory, compiled loops
    DUCKDB = "duckdb"  #: facts larger than memory
    SPARK = "spark"  #: facts larger than one machine


class Score(StrEnum):
    """Which statistic of the conditional distribution is the score."""

    MEAN = "mean"  #: E[y]: ranks well, ties are rare
    MAP = "map"  #: the most probable state, as PSL's inference gives


class TableFormat(StrEnum):
    """How a table is written."""

    TSV = "tsv"  #: columns with TABs between
    CSV = "csv"  #: columns with commas between, quoted where needed, and a header
    JSON = "json"  #: a list of objects
    JSONL = "jsonl"  #: an object per line
    PARQUET = "parquet"  #: typed columns


class ExportFormat(StrEnum):
    """What a model is exported as; by default a PSL program, or a table of a graph's rules."""

    SPARQL = "sparql"
    CYPHER = "cypher"


class Relaxation(StrEnum):
    """What values a target may take, and the power of the hinge."""

    BOOLEAN = "boolean"  #: y in {0, 1}
    LINEAR = "linear"  #: y in [0, 1], hinges of power 1
    SQUARED = "squared"  #: y in [0, 1], hinges of power 2 (written ^2)


class CollectiveMethod(StrEnum):
    """How pairs that are scored together influence each other."""

    TWO_STEP = "two-step"  #: a plain model first, then a model that counts its beliefs
    MAP = "map"  #: recursive rules and their joint MAP state, as in PSL
    MAP_HEADS = "map-heads"  #: recursive rules too, but only heads depend on bodies


class Solver(StrEnum):
    """How to find the MAP state."""

    #: closed forms of lone variables; the rest by ADMM or exactly, whichever is quicker
    AUTO = "auto"
    ADMM = "admm"  #: consensus ADMM on the whole program, as PSL does
    EXACT = "exact"  #: an LP or QP solver on the whole program


#: How negatives are drawn where there are no labels.
Sampling = Literal["uniform", "frequency", "typed"]


class WeightMethod(StrEnum):
    """How the weights of rules that the user gives are learned."""

    JOINT = "joint"  #: pseudolikelihood, all weights together
    PPLL = "ppll"  #: pseudolikelihood, each rule alone (piecewise)
    SEARCH = "search"  #: guided random search, scored by an evaluator
    MAP = "map"  #: energy of the truth against the energy of MAP states, with a margin


class FilterTime(StrEnum):
    """Which other true answers do not count as wrong."""

    SAME = "same"  #: those of the query's own time
    ALL = "all"  #: those of any time


class History(StrEnum):
    """What a test query sees before its time."""

    STEP = "step"  #: the facts, the filter and the test itself: one step ahead
    FIXED = "fixed"  #: the facts alone, however long ago they end
