"""Make the bundled ``countries`` example from ``examples/countries.csv``.

Run ``python examples/make_countries.py`` to rewrite the files under
``src/hornbeam/examples/countries``, or add ``--check`` to only compare them with what the table
gives. The result depends on nothing but the table and the constants below.

The table has one row per country. Its ``neighbours`` and ``languages`` columns hold names
separated by spaces; ``currency`` is filled in only where at least two countries share it.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "examples" / "countries.csv"
OUTPUT = ROOT / "src" / "hornbeam" / "examples" / "countries"

SEED = 2025
PARTS = 5
WRONG_REGIONS = 2  # negatives per country
REGIONS = ("africa", "americas", "asia", "europe", "oceania")
COLUMNS = ("country", "region", "subregion", "neighbours", "languages", "currency")
NAME = re.compile(r"[^\W\d_]+(?:_[^\W\d_]+)*")  # snake_case, letters of any script

Row = tuple[str, ...]


class TableError(ValueError):
    """The source table is malformed or contradicts itself."""


@dataclass(frozen=True)
class Country:
    """One row of the source table."""

    name: str
    region: str
    subregion: str
    neighbours: tuple[str, ...]
    languages: tuple[str, ...]
    currency: str


def read_table(path: Path) -> dict[str, Country]:
    """Read and verify the source table, and return its countries by name, sorted."""
    countries: dict[str, Country] = {}
    problems: list[str] = []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise TableError(f"{path.name}: the header must be {','.join(COLUMNS)}")
        for record in reader:
            if None in record or None in record.values():
                problems.append(f"line {reader.line_num}: expected {len(COLUMNS)} columns")
                continue
            country = Country(
                name=record["country"],
                region=record["region"],
                subregion=record["subregion"],
                neighbours=tuple(record["neighbours"].split()),
                languages=tuple(record["languages"].split()),
                currency=record["currency"],
            )
            if country.name in countries:
                problems.append(f"{country.name}: listed twice")
            countries[country.name] = country
    problems += find_problems(countries)
    if problems:
        raise TableError(f"{path.name} has {len(problems)} problem(s):\n  " + "\n  ".join(problems))
    return dict(sorted(countries.items()))


def find_problems(countries: Mapping[str, Country]) -> list[str]:
    """Return a message for each thing wrong with the table; an empty list if it is sound."""
    problems: list[str] = []
    kinds: dict[str, str] = {}
    region_of: dict[str, str] = {}
    users = Counter(country.currency for country in countries.values() if country.currency)

    def note_name(name: str, kind: str, where: str) -> None:
        if not NAME.fullmatch(name) or name != unicodedata.normalize("NFC", name).lower():
            problems.append(f"{where}: {name!r} is not a lower-case snake_case NFC name")
        if kinds.setdefault(name, kind) != kind:
            problems.append(f"{where}: {name!r} names both a {kinds[name]} and a {kind}")

    for name, country in countries.items():
        note_name(name, "country", name)
        note_name(country.region, "region", name)
        note_name(country.subregion, "subregion", name)
        if country.currency:
            note_name(country.currency, "currency", name)
            if users[country.currency] < 2:
                problems.append(f"{name}: nobody else uses {country.currency!r}")
        if country.region not in REGIONS:
            problems.append(f"{name}: unknown region {country.region!r}")
        if region_of.setdefault(country.subregion, country.region) != country.region:
            problems.append(
                f"{name}: {country.subregion!r} lies in both {region_of[country.subregion]!r}"
                f" and {country.region!r}"
            )
        if not country.languages:
            problems.append(f"{name}: no language")
        for language in country.languages:
            note_name(language, "language", name)
        for column, values in (("neighbour", country.neighbours), ("language", country.languages)):
            for value, count in Counter(values).items():
                if count > 1:
                    problems.append(f"{name}: {column} {value!r} listed twice")
        for neighbour in country.neighbours:
            if neighbour == name:
                problems.append(f"{name}: is its own neighbour")
            elif neighbour not in countries:
                problems.append(f"{name}: unknown neighbour {neighbour!r}")
            elif name not in countries[neighbour].neighbours:
                problems.append(f"{name}: {neighbour!r} does not list it back as a neighbour")
    return problems


def shuffled(items: Iterable[str], purpose: str) -> list[str]:
    """Shuffle items with a generator of their own, so that each draw stands alone.

    Sorting by ``random()`` gives the same order in every Python version.
    """
    rng = random.Random(f"{SEED}/{purpose}")
    return sorted(items, key=lambda _: rng.random())


def observed_facts(countries: Mapping[str, Country]) -> list[Row]:
    """Return the facts shared by all folds; a third of the countries get no subregion."""
    without_subregion = set(shuffled(countries, "subregion")[: len(countries) // 3])
    facts: list[Row] = []
    for name, country in countries.items():
        facts += [(name, "neighbour", other) for other in country.neighbours]
        facts += [(name, "speaks", language) for language in country.languages]
        if country.currency:
            facts.append((name, "uses_currency", country.currency))
        if name not in without_subregion:
            facts.append((name, "in_subregion", country.subregion))
    return sorted(facts)


def labelled_facts(names: Iterable[str], countries: Mapping[str, Country]) -> list[Row]:
    """Return the true region of each country with 1 and some wrong ones with 0."""
    rows: list[Row] = []
    for name in names:
        true = countries[name].region
        wrong = shuffled((region for region in REGIONS if region != true), f"wrong/{name}")
        rows.append((name, "located_in", true, "1"))
        rows += [(name, "located_in", region, "0") for region in wrong[:WRONG_REGIONS]]
    return sorted(rows)


def make_files(countries: Mapping[str, Country]) -> dict[str, list[Row]]:
    """Return the rows of every file of the example by its relative path."""
    files = {"observed.tsv": observed_facts(countries)}
    order = shuffled(countries, "parts")
    parts = [order[start::PARTS] for start in range(PARTS)]
    for fold in range(PARTS):
        train = parts[(fold + 1) % PARTS]
        test = parts[fold]
        rest = set(order).difference(train, test)
        files[f"fold{fold}/obs.tsv"] = sorted(
            (name, "located_in", countries[name].region) for name in rest
        )
        files[f"fold{fold}/train.tsv"] = labelled_facts(train, countries)
        files[f"fold{fold}/test.tsv"] = labelled_facts(test, countries)
    return files


def render(rows: Sequence[Row]) -> bytes:
    """Return rows as tab-separated UTF-8 text with Unix line ends."""
    return "".join("\t".join(row) + "\n" for row in rows).encode("utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite or check the files of the example, and print their row counts."""
    parser = argparse.ArgumentParser(description="Make the bundled countries example.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if files differ")
    check = parser.parse_args(argv).check
    try:
        countries = read_table(TABLE)
    except (OSError, TableError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    stale: list[str] = []
    for name, rows in make_files(countries).items():
        path = OUTPUT / name
        content = render(rows)
        if check:
            if not path.is_file() or path.read_bytes() != content:
                stale.append(name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        counts = Counter(row[1] if len(row) == 3 else f"label {row[3]}" for row in rows)
        print(f"{name}: {len(rows)}", dict(sorted(counts.items())))
    if stale:
        print(f"error: out of date: {', '.join(stale)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
