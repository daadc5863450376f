"""Folds for cross-validation, of a task folder or made from labels; and folds of evidence.

A task folder has one of two layouts, its files plain or gzipped (`.tsv`, `.tsv.gz`):

    paper-style                             separate worlds
    observed.tsv     evidence of all folds
    fold0/train.tsv  labelled targets       fold0/train_observed.tsv  fold0/train.tsv
    fold0/test.tsv   labelled targets       fold0/test_observed.tsv   fold0/test.tsv
    fold0/obs.tsv    evidence (optional)    fold1/...
    fold1/...

Folds of evidence say what a pair may see of the target relation while rules are learned.
If a true pair hides its own fact while a false one sees everything, the number of target facts in
sight reveals the label, and a learner finds strong rules in pure noise. So evidence is hidden by
fold. Training pairs are assigned to ten folds, and a pair, true or false, sees the target facts of
the other nine. A true pair thus misses one fact at each of its ends, in addition to those that its
fold hides for others. A false pair with an end sampled in proportion to target facts must miss as
many: one fact at that end, chosen uniformly, is hidden in addition, whatever its fold hides. An end
that was drawn from elsewhere misses nothing. Target facts that are not training pairs are always
seen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hornbeam.base.arrays import Array, Bools, Integers, Ints
from hornbeam.errors import DataError, InputError
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.known import with_mirror_images, without_targets
from hornbeam.facts.table import Facts, Targets

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
    _, pair = np.unique(pair_keys(high, low), return_inverse=True)
    _, number = np.unique(pair_keys(pair, targets.predicate), return_inverse=True)
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


# --- folds of evidence ----------------------------------------------------------------------------

#: Number of folds.
FOLDS = 10
#: Columns of the two arguments.
ENDS = ("subject", "object")
#: Share of entities with another target fact below which their pairs stay in one fold.
RARE_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class EvidenceFolds:
    """Training pairs in folds, and what each fold may not see.

    `facts` is all evidence, the facts of the true pairs included; `fold` has the fold of every
    pair, `hidden` the target facts that each fold does not see.
    """

    facts: Facts
    pairs: Targets
    fold: Ints
    hidden: tuple[Targets, ...]

    def views(self) -> Iterator[tuple[Ints, Facts]]:
        """Rows of the pairs of each fold, and the facts that they see."""
        for k, hidden in enumerate(self.hidden):
            yield np.flatnonzero(self.fold == k), without_targets(self.facts, hidden)


def assign_evidence_folds(
    facts: Facts,
    pairs: Targets,
    rng: np.random.Generator,
    origin: Ints | None = None,
    symmetric: bool = False,
) -> EvidenceFolds:
    """Assign training pairs to folds; `facts` includes the facts of the true pairs.

    `origin` has for every pair the row of the true pair that it was drawn from, whose fold it
    shares (its own row for a true pair); it is None where nothing was drawn. For a `symmetric`
    target a fact and its mirror image mean the same. Each target predicate has folds of its own: a
    pair sees all facts of the others.
    """
    fold, hidden = np.empty(len(pairs), dtype=np.int64), list[Targets]()
    for number, name in enumerate(pairs.predicates):
        rows = np.flatnonzero(pairs.predicate == number)
        own = None if origin is None else np.searchsorted(rows, origin[rows])
        of_rows, hidden_from = _assign_one(facts, pairs.only([name]), rng, own, symmetric)
        fold[rows] = of_rows + len(hidden)
        hidden += hidden_from
    return EvidenceFolds(facts, pairs, fold, tuple(hidden))


def _assign_one(
    facts: Facts, pairs: Targets, rng: np.random.Generator, origin: Ints | None, symmetric: bool
) -> tuple[Ints, list[Targets]]:
    """The fold of every pair of one predicate, and what each fold does not see."""
    group = pair_groups(facts, pairs, drawn=origin is not None)
    distinct, place = np.unique(group, return_inverse=True)
    n_folds = min(FOLDS, len(distinct))
    # groups are sorted by ids, so that the order of the pairs changes nothing
    fold = (rng.permutation(len(distinct)) % n_folds)[place]
    if origin is not None:
        fold = fold[origin]
    true = np.flatnonzero(pairs.positive)
    replaced = _replaced(pairs, origin)
    hidden = list[Targets]()
    for k in range(n_folds):
        rows = true[fold[true] == k]
        false = (fold == k) & ~pairs.positive
        for end in ENDS:
            bare = getattr(pairs, end)[false & replaced[end]]
            if origin is None:
                bare = np.setdiff1d(bare, _ends(pairs, end, rows, symmetric))
            rows = _with_one_of_each(pairs, end, rows, bare, true, rng)
        shown = pairs.select(rows)
        hidden.append(with_mirror_images(shown) if symmetric else shown)
    return fold, hidden


def pair_groups(facts: Facts, pairs: Targets, drawn: bool) -> Ints:
    """Groups that stay in one fold: pairs of a subject, of an object, or with mirror images.

    The pairs of a subject stay together where subjects have no other target fact, as new papers or
    films have none: those to be scored will have none either. Other facts are those that are not
    training pairs or, where all true pairs are facts and the false ones drawn, a second one.
    """
    n = len(pairs.entities)
    true = pairs.positive
    for place, name in enumerate(ENDS):
        end: Integers = getattr(pairs, name)
        training = 1 if drawn else np.bincount(end[true], minlength=n)
        others = _degrees(facts, pairs, place) - training
        entities = np.unique(end[true])
        if np.mean(others[entities] > 0) < RARE_SHARE:
            return pair_keys(pairs.predicate, end, n)
    low, high = np.minimum(pairs.subject, pairs.object), np.maximum(pairs.subject, pairs.object)
    _, pair = np.unique(pair_keys(low, high, n), return_inverse=True)
    return pair_keys(pairs.predicate, pair, len(pairs))


def _degrees(facts: Facts, pairs: Targets, place: int) -> Ints:
    """Target facts that every entity of the pairs has in a place."""
    predicates = facts.predicates.find(pairs.predicates)
    of_target = np.isin(facts.binary.predicate, predicates)
    counts = np.bincount(facts.binary.arguments[place][of_target], minlength=len(facts.entities))
    node = pairs.entities.translate(facts.entities)
    return np.where(node >= 0, counts[node], 0)


def _replaced(pairs: Targets, origin: Ints | None) -> dict[str, Bools]:
    """Which false pairs must have a fact hidden at an end that was sampled by its facts.

    Where pairs were drawn from true ones, that is the end which is not that of their origin: one
    fact is hidden in place of the one that the pair would hide if it were true. For given labels it
    is only known whether an end was drawn by facts at all; one is hidden where the fold hides none.
    """
    ends: dict[str, Array] = {end: getattr(pairs, end) for end in ENDS}
    if origin is not None:
        return {end: ids != ids[origin] for end, ids in ends.items()}
    return {end: np.full(len(pairs), _drawn_by_facts(pairs, end)) for end in ENDS}


def _drawn_by_facts(pairs: Targets, end: str) -> bool:
    """Whether false pairs have as many true ones at an end as true pairs do, themselves included.

    That is what drawing the end in proportion to its facts gives; any other drawing gives less.
    """
    ends: Array = getattr(pairs, end)
    true = np.bincount(ends[pairs.positive], minlength=len(pairs.entities))
    of_true, of_false = true[ends[pairs.positive]], true[ends[~pairs.positive]]
    return bool(len(of_false)) and bool(of_false.mean() > of_true.mean() - 0.5)


def _ends(pairs: Targets, end: str, rows: Ints, symmetric: bool) -> Array:
    """Entities that some pairs have at an end, or at either where both are the same."""
    at_end: Array = getattr(pairs, end)[rows]
    return np.append(pairs.subject[rows], pairs.object[rows]) if symmetric else at_end


def _with_one_of_each(
    pairs: Targets,
    end: str,
    hidden: Ints,
    entities: Array,
    true: Ints,
    rng: np.random.Generator,
) -> Ints:
    """Hide also one true pair of each entity that has any at an end, whichever it is."""
    ends: Array = getattr(pairs, end)
    shuffled = rng.permutation(true)
    owners, first = np.unique(ends[shuffled], return_index=True)
    return np.append(hidden, shuffled[first[np.isin(owners, entities)]])
