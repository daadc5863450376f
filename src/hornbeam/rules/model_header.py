"""First line of a model file, `# hornbeam: {...}`: what scoring needs in addition to the rules.

A wrong line is never guessed at: an unknown key or value could change every score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import get_args

from hornbeam.base.choices import CollectiveMethod, Relaxation, Sampling
from hornbeam.base.machine import MAX_COUNT
from hornbeam.errors import DataError, InputError
from hornbeam.language.naming import IDENTIFIER
from hornbeam.rules.rule_model import PairDensity
from hornbeam.rules.weighing import Counts

VERSION = 1
#: Ways of counting of all rules that have none of their own; each share has its own median.
_COUNTS = [counts for counts in Counts if counts is not Counts.SHARE]
_LINE = re.compile(r"^[ \t]*#[ \t]*hornbeam:[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Header:
    """Content of the line, or its defaults where it is missing; None where the rules decide.

    `rules` is the number of rules that were written, None where an earlier version wrote the line.
    `predicates` maps identifiers to names where these differ.
    """

    rules: int | None = None
    counts: Counts = Counts.RAW
    relaxation: Relaxation | None = None
    collective: CollectiveMethod | None = None
    max_fanout: int | None = None
    distinct_variables: bool | None = None
    threshold: float = 0.5
    cross_evidence: bool = False
    asked: PairDensity | None = None
    sampled_negatives: Sampling | None = None
    predicates: Mapping[str, str] = field(default_factory=dict)


def header_text(header: Header) -> str:
    """Line of a header, without its end."""
    fields = {"version": VERSION} | asdict(header)
    fields["collective"] = header.collective or False
    for optional in ("rules", "asked", "sampled_negatives"):
        if fields[optional] is None:
            del fields[optional]
    try:
        _check(fields)
    except ValueError as error:
        raise InputError(f"the model cannot be written: {error}") from None
    text = json.dumps(fields, ensure_ascii=False, allow_nan=False)
    # Names are written as they are, except letters that an editor may take for a line end.
    return "# hornbeam: " + "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def read_header(text: str, name: str) -> Header | None:
    """Header of a model's text, or None where it has none.

    Comments and blank lines may precede it.
    """
    lines = list(_LINE.finditer(text))
    if not lines:
        return None
    line, number = lines[-1], text.count("\n", 0, lines[-1].start()) + 1
    if len(lines) > 1:
        raise DataError(name, "a second line '# hornbeam:'; expected one", line=number)
    try:
        fields = json.loads(line[1], object_pairs_hook=_once, parse_constant=_no_constant)
        return _header(fields)
    except json.JSONDecodeError as error:
        column = line.start(1) - line.start() + error.colno
        problem = f"expected JSON behind '# hornbeam:': {error.msg}"
        raise DataError(name, problem, line=number, column=column) from None
    except RecursionError:
        raise DataError(name, "expected plain JSON behind '# hornbeam:'", line=number) from None
    except ValueError as error:
        raise DataError(name, f"behind '# hornbeam:', {error}", line=number) from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"{json.dumps(key)} occurs twice")
        fields[key] = value
    return fields


def _no_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")


def _header(fields: object) -> Header:
    if not isinstance(fields, dict):
        raise ValueError("expected a JSON object in braces")
    _check(fields)
    given = {key: value for key, value in fields.items() if key != "version"}
    for key, kind in _KINDS.items():
        if key in given:
            given[key] = kind(given[key])
    return Header(**given)


def _collective(value: bool | str) -> CollectiveMethod | None:
    """The method of a collective model; `true` is from versions that had only one."""
    if value is True:
        return CollectiveMethod.MAP
    return CollectiveMethod(value) if value else None


def _check(fields: Mapping[str, object]) -> None:
    """Raise ValueError with the wrong field and what was expected."""
    for key, value in fields.items():
        if key not in _FIELDS:
            raise ValueError(f"{json.dumps(key)} is unknown; expected {', '.join(_FIELDS)}")
        accepts, expected = _FIELDS[key]
        if not accepts(value):
            raise ValueError(f'"{key}" is {json.dumps(value)}; expected {expected}')


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_limit(value: object) -> bool:
    whole = isinstance(value, int) and value is not True
    return value is None or (whole and 1 <= value <= MAX_COUNT)  # type: ignore[operator]


def _is_density(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"per_subject", "per_object", "alone"}
        and all(isinstance(one, int | float) and one is not True for one in value.values())
        and value["per_subject"] >= 1
        and value["per_object"] >= 1
        and _is_share(value["alone"])
    )


def are_predicates(value: object) -> bool:
    """Whether identifiers, distinct when case is ignored, have names that facts can have."""
    return (
        isinstance(value, dict)
        and all(IDENTIFIER.match(identifier) for identifier in value)
        and len({identifier.lower() for identifier in value}) == len(value)
        and all(isinstance(name, str) for name in value.values())
        and all(name and not re.search(r"[\t\r\n\0]", name) for name in value.values())
    )


_FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "version": (
        lambda value: value == VERSION and _is_limit(value),
        f"{VERSION}; a newer Hornbeam may read it",
    ),
    "rules": (
        lambda value: value is not None and _is_limit(value),
        "the number of rules, a whole number of at least 1",
    ),
    "counts": (lambda value: value in _COUNTS, ", ".join(_COUNTS)),
    "relaxation": (lambda value: value in list(Relaxation), ", ".join(Relaxation)),
    "collective": (
        lambda value: _is_truth(value) or value in list(CollectiveMethod),
        f"false, {', '.join(CollectiveMethod)}, or true for map",
    ),
    "max_fanout": (_is_limit, f"null or a whole number from 1 to {MAX_COUNT}"),
    "distinct_variables": (_is_truth, "true or false"),
    "threshold": (_is_share, "a number from 0 to 1"),
    "cross_evidence": (_is_truth, "true or false"),
    "asked": (
        _is_density,
        "pairs per subject, pairs per object and the share of pairs alone: "
        '{"per_subject": 2.5, "per_object": 1.2, "alone": 0.1}',
    ),
    "sampled_negatives": (
        lambda value: value in get_args(Sampling),
        ", ".join(get_args(Sampling)),
    ),
    "predicates": (
        are_predicates,
        'names by identifiers that differ in more than case: {"film_genre": "/film/genre"}',
    ),
}

_KINDS: dict[str, Callable[..., object]] = {
    "counts": Counts,
    "relaxation": Relaxation,
    "collective": _collective,
    "threshold": float,
    "asked": lambda value: PairDensity(**value),
}
