"""Folds are found as the folders say, and made so that nothing of a test part is in training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam import read_facts, read_labels
from hornbeam.errors import DataError, InputError
from hornbeam.facts.folds import Fold, make_folds, task_folds
from hornbeam.facts.known import without_targets
from hornbeam.facts.table import ONE, Targets
from tests.support.brute_force import Labels
from tests.support.fact_tables import as_dict, as_rows, same_bytes
from tests.support.worlds import SOFT, World, targets_of, worlds

PAPER = ["observed.tsv", "fold0/train.tsv", "fold0/test.tsv"]
WORLDS = [f"fold0/{stem}.tsv" for stem in ("train_observed", "train", "test_observed", "test")]


def folder_of(root: Path, files: list[str]) -> Path:
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a\tp\tb\t1\n")
    return root


def test_paper_style(tmp_path: Path) -> None:
    more = ["fold0/obs.tsv", "fold0/obs_neg.tsv", "fold10/train.tsv.gz", "fold10/test.tsv"]
    more += ["fold2/train.tsv", "fold2/test.tsv", "foldX/train.tsv", "meta.json", "fold3"]
    task = folder_of(tmp_path, PAPER + more)
    evidence = task / "observed.tsv"
    first, second, third = task_folds(str(task))
    assert first == Fold(
        "fold0",
        (evidence, task / "fold0/obs.tsv"),
        task / "fold0/train.tsv",
        (evidence, task / "fold0/obs.tsv"),
        task / "fold0/test.tsv",
    )
    assert (second.name, second.train_facts) == ("fold2", (evidence,))
    assert (third.name, third.train_labels.name) == ("fold10", "train.tsv.gz")


def test_separate_worlds(tmp_path: Path) -> None:
    task = folder_of(tmp_path, WORLDS)
    assert task_folds(task) == [
        Fold(
            "fold0",
            (task / "fold0/train_observed.tsv",),
            task / "fold0/train.tsv",
            (task / "fold0/test_observed.tsv",),
            task / "fold0/test.tsv",
        )
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "has no folders fold0"),
        (["train.tsv", "test.tsv"], "has no folders fold0"),
        (PAPER[1:], "has no evidence, observed.tsv"),
        (PAPER[:2], "lacks fold0/test.tsv;"),
        ([*PAPER, "fold1/obs.tsv"], "lacks fold1/train.tsv, fold1/test.tsv;"),
        (PAPER + WORLDS, "mixes two layouts"),
        (WORLDS[:2], "lacks fold0/test_observed.tsv, fold0/test.tsv;"),
        ([*WORLDS, "fold1/train.tsv"], "lacks fold1/train_observed.tsv, fold1/test_observed.tsv,"),
        ([f"fold{i}/test_observed.tsv" for i in range(9)], "fold2/train.tsv, ..;"),
    ],
)
def test_names_what_is_missing(tmp_path: Path, files: list[str], message: str) -> None:
    with pytest.raises(DataError) as caught:
        task_folds(folder_of(tmp_path, files))
    assert str(tmp_path) in str(caught.value)
    assert message in str(caught.value)
    assert "expected observed.tsv, fold0/train.tsv" in str(caught.value)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        task_folds(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is not a folder"):
        task_folds(folder_of(tmp_path, ["file"]) / "file")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "own", "worlds"),
    [
        ("ddi_196", True, False),
        ("film_rating", True, False),
        ("book_author", True, False),
        ("yeast_pra", False, False),
        ("fly", False, False),
        ("srl_uwcse", False, True),
    ],
)
def test_shared_tasks(shared_data: Path, name: str, own: bool, worlds: bool) -> None:
    folds = task_folds(shared_data / name)
    assert [fold.name for fold in folds] == [f"fold{k}" for k in range(5)]
    for fold in folds:
        assert (fold.train_facts != fold.test_facts) == worlds
        assert len(fold.train_facts) == len(fold.test_facts) == 1 + own
        files = [*fold.train_facts, *fold.test_facts, fold.train_labels, fold.test_labels]
        assert all(path.is_file() for path in files)


NAME = st.sampled_from([f"e{i}" for i in range(8)])
TRIPLE = st.tuples(NAME, st.sampled_from("pq"), NAME)
LABELS = st.lists(st.tuples(TRIPLE, st.sampled_from([0, ONE, 400_000, 600_000])), max_size=60)


def unordered(targets: Targets) -> list[tuple[str, ...]]:
    return [(p, *sorted([s, o])) for s, p, o in as_rows(targets)]


@given(LABELS, st.integers(2, 5), st.integers(0, 9))
def test_made_folds(rows: Labels, n: int, seed: int) -> None:
    labels = targets_of(rows)
    groups = unordered(labels)
    of_class = [
        {group for group, true in zip(groups, labels.positive, strict=True) if true == wanted}
        for wanted in (True, False)
    ]
    if min(map(len, of_class)) < n:
        with pytest.raises(InputError, match=f"too few for {n} folds"):
            make_folds(labels, n, np.random.default_rng(seed))
        return
    folds = make_folds(labels, n, np.random.default_rng(seed))
    again = make_folds(labels, n, np.random.default_rng(seed))
    assert len(folds) == n
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(labels)))
    sizes = []
    for (train, test), (_, same) in zip(folds, again, strict=True):
        assert sorted([*train, *test]) == list(range(len(labels)))
        assert test.tolist() == sorted(test.tolist()) == same.tolist()
        inside = set(unordered(labels.select(test)))
        assert not inside & set(unordered(labels.select(train)))
        assert len(set(labels.positive[test])) == 2
        sizes.append([len(inside), *(len(inside & members) for members in of_class)])
    spread = np.max(sizes, axis=0) - np.min(sizes, axis=0)
    assert spread.max() <= 1


def test_shares_are_kept() -> None:
    labels = targets_of(
        [((f"s{i}", "pq"[i >= 80], "o"), ONE if i % 4 == 0 else 0) for i in range(100)]
    )
    folds = make_folds(labels, 5, np.random.default_rng(0))
    for _, test in folds:
        assert labels.positive[test].sum() == 5
        assert (labels.predicate[test] == 1).sum() == 4
    assert folds[0][1].tolist() != make_folds(labels, 5, np.random.default_rng(1))[0][1].tolist()


def test_refuses_to_split() -> None:
    labels = read_labels([("a", "p", "b", 1), ("b", "p", "a", 1), ("c", "p", "a", 0)])
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="`folds` is 1; expected at least 2"):
        make_folds(labels, 1, rng)
    with pytest.raises(InputError, match="1 true labels"):
        make_folds(labels, 2, rng)
    bare = Targets(
        labels.entities, labels.predicates, labels.predicate, labels.subject, labels.object
    )
    with pytest.raises(InputError, match="have none"):
        make_folds(bare, 2, rng)


@given(worlds() | worlds(SOFT))
def test_no_fact_states_a_target(world: World) -> None:
    facts = world.facts
    left = without_targets(facts, world.targets)
    hidden = {target for target, _ in world.labels}
    assert as_dict(left) == {key: v for key, v in as_dict(facts).items() if key not in hidden}
    assert left.entities is facts.entities
    assert left.soft == any(value < ONE for value in as_dict(left).values())
    assert same_bytes(without_targets(left, world.targets), left)
    subject, object_ = left.binary.arguments
    rows = list(zip(subject, left.binary.predicate, object_, strict=True))
    assert rows == sorted(rows)


def test_facts_that_state_no_target_stay_as_they_are() -> None:
    facts = read_facts([("a", "p", "b")])
    assert without_targets(facts, targets_of([(("b", "p", "a"), 1), (("z", "r", "z"), 1)])) is facts
