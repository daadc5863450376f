"""Bundled data, read in one call."""

from __future__ import annotations

import pytest

import hornbeam as hb
from hornbeam.errors import InputError


def test_countries_are_the_files_of_the_demo() -> None:
    facts, train, test = hb.datasets.countries(fold=3)
    assert repr(facts) == "Facts(1,256 facts, 357 entities, 5 predicates)"
    assert (len(train), int(train.positive.sum())) == (len(test), int(test.positive.sum()))
    assert not set(train.to_table()["subject"]) & set(test.to_table()["subject"])
    assert list(test) != list(hb.datasets.countries().test)


@pytest.mark.parametrize("fold", [-1, 5, "0"])
def test_other_folds_are_refused(fold: int) -> None:
    with pytest.raises(InputError, match=r"`fold` is .*; expected 0 to 4"):
        hb.datasets.countries(fold)
