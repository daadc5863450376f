"""Folds for cross-validation: those of a task folder, and those made from one table of labels.

A task folder has one of two layouts, its files plain or gzipped (`.tsv`, `.tsv.gz`):

    paper-style                             separate worlds
    observed.tsv     evidence of all folds
    fold0/train.tsv  labelled targets       fold0/train_observed.tsv  fold0/train.tsv
    fold0/test.tsv   labelled targets       fold0/test_observed.tsv   fold0/test.tsv
    fold0/obs.tsv    evidence (optional)    fold1/...
    fold1/...
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hornbeam.base.arrays import Ids, Ints, part_numbers, run_starts
from hornbeam.errors import DataError, InputError
from hornbeam.facts.table import Targets

SUFFIXES = (".tsv", ".tsv.gz")
LAYOUTS = (
    "expected observed.tsv, fold0/train.tsv, fold0/test.tsv (and fold0/obs.tsv), or "
    "fold0/train_observed.tsv, fold0/train.tsv, fold0/test_observed.tsv, fold0/test.tsv"
)


@dataclass(frozen=True)
class Fold:
    """The files of one fold: what to learn from, and what to score afterwards.

    Predicting the test targets may use `test_facts` alone: in separate worlds they are other
    facts than those of training, else the same.
    """

    name: str
    train_facts: tuple[Path, ...]
    train_labels: Path
    test_facts: tuple[Path, ...]
    test_labels: Path


def task_folds(task_dir: str | os.PathLike[str]) -> list[Fold]:
    """Find the folds of a task folder, in the order of their numbers.

    The folder has one of the two layouts above; other files in it are not looked at.
    """
    task = Path(task_dir)
    try:
        folders = _fold_folders(task)
        shared = _find(task, "observed")
        worlds = [folder for folder in folders if _find(folder, "train_observed", "test_observed")]
        if shared and worlds:
            files = f"{shared.name} and {worlds[0].name}/*_observed.tsv"
            raise DataError(str(task), f"mixes two layouts, {files}; {LAYOUTS}")
        if not shared and not worlds:
            raise DataError(str(task), f"has no evidence, observed.tsv; {LAYOUTS}")
        return _separate_worlds(task, folders) if shared is None else _paper(task, shared, folders)
    except OSError as error:
        raise DataError(str(task), f"cannot be read: {error.strerror}") from None


def make_folds(labels: Targets, n: int, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    """Split labelled targets into `n` parts, each of which is the test of one fold.

    Rows for training and for the test come in their order; every row is in exactly one test part.
    The shares of true and false labels are kept, and those of the predicates. A pair, its
    repetitions and its mirror image t(o, s) always fall into the same part: of a symmetric
    relation one direction in training would tell the other in the test. Facts that state a test
    target must be taken away too (`hornbeam.facts.known.without_targets`).

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_labels
    >>> labels = read_labels([(f"a{i}", "knows", "b", i % 2) for i in range(6)])
    >>> folds = make_folds(labels, 3, np.random.default_rng(0))
    >>> [len(labels.select(test)) for train, test in folds]
    [2, 2, 2]
    """
    if n < 2:
        raise InputError(f"`folds` is {n}; expected at least 2")
    if labels.millionths is None:
        raise InputError("folds are made from labels; these targets have none")
    group = unordered_pairs(labels)
    true = np.bincount(group, weights=labels.positive) > 0
    false = np.bincount(group, weights=~labels.positive) > 0
    for name, found in (("true", int(true.sum())), ("false", int(false.sum()))):
        if found < n:
            raise InputError(
                f"{found:,} {name} labels (a pair and its mirror image counting once) are too few "
                f"for {n} folds; expected at least one per fold"
            )
    predicate = np.zeros(len(true), dtype=np.int64)
    predicate[group] = labels.predicate
    # Groups are sorted by class and predicate and then assigned to the parts in turn, which
    # spreads every class evenly. Groups with both labels stand between the true and the false, so
    # that the groups with a true label are one run, and those with a false one, too.
    kind = false.astype(np.int64) - true
    order = np.lexsort((rng.permutation(len(true)), predicate, kind))
    part = np.empty(len(true), dtype=np.int64)
    part[order] = np.arange(len(true)) % n
    of_row = part[group]
    return [(np.flatnonzero(of_row != k), np.flatnonzero(of_row == k)) for k in range(n)]


def unordered_pairs(targets: Targets) -> Ints:
    """Number of every target's pair, from 0 on, the same for its mirror image t(o, s)."""
    low = np.minimum(targets.subject, targets.object)
    high = np.maximum(targets.subject, targets.object)
    return _distinct([targets.predicate, low, high])


def _distinct(columns: list[Ids]) -> Ints:
    """Give every row the number, from 0 on, that all rows equal to it have."""
    order = np.lexsort(columns)
    starts = run_starts(*(column[order] for column in columns))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = part_numbers(np.append(starts, len(order)))
    return number


def _fold_folders(task: Path) -> list[Path]:
    """Folders fold0, fold1, .. by number."""
    if not task.is_dir():
        problem = "is not a folder" if task.exists() else "no such folder"
        raise DataError(str(task), f"{problem}; {LAYOUTS}")
    found = [
        (int(match[1]), path.name, path)
        for path in task.iterdir()
        if (match := re.fullmatch(r"fold([0-9]+)", path.name)) and path.is_dir()
    ]
    if not found:
        raise DataError(str(task), f"has no folders fold0, fold1, ..; {LAYOUTS}")
    return [path for _, _, path in sorted(found)]


def _find(folder: Path, *stems: str) -> Path | None:
    """Find the first file of these names, plain or gzipped."""
    paths = (folder / f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


def _required(task: Path, folders: list[Path], stems: tuple[str, ...]) -> list[list[Path]]:
    """Find these files in every fold, or name all that are missing."""
    found = [[(folder, stem, _find(folder, stem)) for stem in stems] for folder in folders]
    missing = [f"{f.name}/{stem}.tsv" for row in found for f, stem, path in row if path is None]
    if missing:
        listed = ", ".join(missing[:8]) + (", .." if len(missing) > 8 else "")
        raise DataError(str(task), f"lacks {listed}; {LAYOUTS}")
    return [[path for _, _, path in row if path is not None] for row in found]


def _paper(task: Path, shared: Path, folders: list[Path]) -> list[Fold]:
    folds = []
    found = _required(task, folders, ("train", "test"))
    for folder, (train, test) in zip(folders, found, strict=True):
        own = _find(folder, "obs")
        evidence = (shared,) if own is None else (shared, own)
        folds.append(Fold(folder.name, evidence, train, evidence, test))
    return folds


def _separate_worlds(task: Path, folders: list[Path]) -> list[Fold]:
    stems = ("train_observed", "train", "test_observed", "test")
    return [
        Fold(folder.name, (train_facts,), train, (test_facts,), test)
        for folder, (train_facts, train, test_facts, test) in zip(
            folders, _required(task, folders, stems), strict=True
        )
    ]
