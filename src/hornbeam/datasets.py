"""Data sets that come with the package.

>>> import hornbeam as hb
>>> facts, train, test = hb.datasets.countries()
>>> facts
Facts(1,254 facts, 357 entities, 5 predicates)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.facts.table import Facts, Targets

#: Number of divisions of the countries into known countries, countries to learn from, and to test.
FOLDS = 5


class Task(NamedTuple):
    """Facts that are known, labels to learn from, and labels to test on."""

    facts: Facts
    train: Targets
    test: Targets


def countries(fold: int = 0) -> Task:
    """197 countries, and the question in which region of the world each of them lies.

    The facts are neighbours, languages, currencies and subregions of all countries, and the regions
    (`located_in`) of most. 40 countries are labelled to learn from, and 40 other countries to test
    on: each with its own region (true) and two other regions (false).

    Parameters
    ----------
    fold
        Number of the division into countries to learn from and to test on, 0 to 4.
    """
    from importlib.resources import as_file, files

    from hornbeam.facts.reading.readers import read_facts, read_labels

    if fold not in range(FOLDS):
        raise InputError(f"`fold` is {fold!r}; expected 0 to {FOLDS - 1}")
    with as_file(files("hornbeam.examples") / "countries") as folder:
        own = folder / f"fold{fold}"
        return Task(
            read_facts(folder / "observed.tsv", own / "obs.tsv"),
            read_labels(own / "train.tsv"),
            read_labels(own / "test.tsv"),
        )


def deliveries() -> Facts:
    """Three months of a small town's invented trade, as facts with a date.

    Shops order from suppliers, which deliver three or four days later, mostly; shops complain, and
    suppliers visit those that did.

    Examples
    --------
    >>> import hornbeam as hb
    >>> hb.datasets.deliveries().events
    Events(278 from 2024-03-01 to 2024-05-31)
    """
    from importlib.resources import as_file, files

    from hornbeam.facts.reading.readers import read_facts

    with as_file(files("hornbeam.examples") / "trade" / "deliveries.tsv") as path:
        return read_facts(path, time=4)


def save_deliveries(path: str | os.PathLike[str]) -> None:
    """Write the events of `deliveries` to a file: subject, relation, object and date."""
    from importlib.resources import files

    from hornbeam.base.files import save_text

    bundled = files("hornbeam.examples") / "trade" / "deliveries.tsv"
    save_text(path, bundled.read_text(encoding="utf-8"))
