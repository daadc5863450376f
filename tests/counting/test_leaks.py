"""When a relation that copies the target is warned of, and when it is not."""

from __future__ import annotations

import warnings

import pytest

import hornbeam as hb
from hornbeam.counting.opening import warn_of_leaks
from hornbeam.errors import HornbeamWarning

Edges = list[tuple[str, str, str]]


def warned(facts: Edges, true: int, false: int) -> list[str]:
    """Messages for facts; pairs of t are true from (a0, b0) on, and false from (c0, d0) on."""
    labels = hb.read_labels(
        [(f"a{i}", "t", f"b{i}", 1.0) for i in range(true)]
        + [(f"c{i}", "t", f"d{i}", 0.0) for i in range(false)]
    )
    return warned_of(facts, labels)


def warned_of(facts: Edges, labels: hb.Targets) -> list[str]:
    found = hb.counting.discover(facts, labels, hb.RuleLimits(max_length=2, min_coverage=1))
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always", HornbeamWarning)
        warn_of_leaks(found.candidates, labels)
    return [str(one.message) for one in messages]


def copies(hits: int, wrong: int, name: str = "same") -> Edges:
    """A relation that links so many true and so many false pairs."""
    return [(f"a{i}", name, f"b{i}") for i in range(hits)] + [
        (f"c{i}", name, f"d{i}") for i in range(wrong)
    ]


@pytest.mark.parametrize(
    ("true", "hits", "false", "wrong", "warns"),
    [
        pytest.param(40, 36, 100, 1, True, id="nine tenths of the true, a hundredth of the false"),
        pytest.param(40, 35, 100, 1, False, id="fewer true ones"),
        pytest.param(40, 36, 100, 2, False, id="more false ones"),
        pytest.param(30, 30, 30, 0, True, id="as few pairs as may be"),
        pytest.param(29, 29, 30, 0, False, id="too few true pairs"),
        pytest.param(30, 30, 29, 0, False, id="too few false pairs"),
    ],
)
def test_nearly_all_true_pairs_and_hardly_any_false_one(
    true: int, hits: int, false: int, wrong: int, warns: bool
) -> None:
    found = warned(copies(hits, wrong), true, false)
    if not warns:
        assert not found
        return
    [message] = found
    assert message == (
        f"'same' links {hits} of the {true} true pairs of 't' and {wrong} of the {false} false "
        'ones: if it only restates the target, leave it out by `exclude=["same"]`'
    )


def test_an_inverse_is_a_copy_too() -> None:
    [message] = warned([(o, p, s) for s, p, o in copies(30, 0)], 30, 30)
    assert message.startswith("'same' links 30")


def test_neither_the_target_itself_nor_a_path_of_two_steps_is_a_copy() -> None:
    paths = [edge for i in range(30) for edge in ((f"a{i}", "p", f"m{i}"), (f"m{i}", "q", f"b{i}"))]
    mirrored = [(o, "t", s) for s, _, o in copies(30, 0)]
    assert warned(paths + mirrored, 30, 30) == []


def test_each_target_is_judged_by_its_own_pairs() -> None:
    """As many pairs of u, which `same` does not link."""
    facts = [
        (f"{target}{s}", p, f"{target}{o}") for target in "tu" for s, p, o in copies(30, 30, "p")
    ]
    facts += [(f"t{s}", "same", f"t{o}") for s, _, o in copies(30, 0)]
    labels = hb.read_labels(
        [
            (f"{target}{s}", target, f"{target}{o}", float(s < "c"))
            for target in "tu"
            for s, _, o in copies(30, 30)
        ]
    )
    [message] = warned_of(facts, labels)
    assert message.startswith("'same' links 30 of the 30 true pairs of 't' and 0")
