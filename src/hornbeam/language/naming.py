"""Names of predicates as PSL identifiers, one to one.

PSL ignores the case of predicates and allows letters, digits and underscores only. A name that is
such an identifier stays as it is; any other has its characters replaced by underscores, with a
number appended where two would be the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def identifiers(names: Iterable[str]) -> Mapping[str, str]:
    """Identifier of every name; the same names give the same identifiers in any order.

    Examples
    --------
    >>> identifiers(["cites", "Cites", "/film/genre", "42"])
    {'Cites': 'Cites', 'cites': 'cites_2', '/film/genre': 'film_genre', '42': 'p_42'}
    """
    distinct = sorted(set(names))
    proper = [name for name in distinct if IDENTIFIER.match(name)]
    others = [name for name in distinct if not IDENTIFIER.match(name)]
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    spelt: dict[str, str] = {}
    for name in [*proper, *others]:
        identifier = base = _spelling(name)
        number = numbers.get(base.lower(), 2)
        while identifier.lower() in taken:
            identifier, number = f"{base}_{number}", number + 1
        numbers[base.lower()] = number
        taken.add(identifier.lower())
        spelt[name] = identifier
    return spelt


def header_names(spelt: Mapping[str, str]) -> dict[str, str]:
    """Names by identifiers where the two differ, as they stand in the header of a model file."""
    return {spelt[name]: name for name in sorted(spelt) if spelt[name] != name}


def are_header_names(value: object) -> bool:
    """Whether identifiers, distinct when case is ignored, have names that facts can have."""
    return (
        isinstance(value, dict)
        and all(IDENTIFIER.match(identifier) for identifier in value)
        and len(names_by_identifier(value)) == len(value)
        and all(isinstance(name, str) for name in value.values())
        and all(name and not re.search(r"[\t\r\n\0]", name) for name in value.values())
    )


def names_by_identifier(stated: Mapping[str, str]) -> dict[str, str]:
    """Names by their identifiers in lower case: PSL ignores the case of predicates."""
    return {identifier.lower(): name for identifier, name in stated.items()}


def _spelling(name: str) -> str:
    if IDENTIFIER.match(name):
        return name
    cleaned = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "p"
    return cleaned if cleaned[0].isalpha() else f"p_{cleaned}"
