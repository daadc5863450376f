"""What the tests of reading share: strategies for names and facts, and tables as plain sets."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from hornbeam.facts.table import ONE, Facts, Targets

#: Names of anything but TAB, CR, LF and NUL, with the troublesome ones well represented.
NAMES = st.one_of(
    st.sampled_from(
        [
            "'; DROP TABLE facts; --",
            '"',
            '""',
            "''",
            "<a href='x'>",
            "😀",
            "a,b",
            " a ",
            "NULL",
            "NaN",
            "#",
            "\\N",
            "\\",
            "e\u0301",
            "é",
            "-",
            "[1]*?",
            "\ufeff",
            "\x0b\x0c\x1c\x85\u2028",
            "subject",
            "1.0",
            "x" * 10_000,
            "\U0010ffff",
            "\ud7ff",
        ]
    ),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n\0"),
        min_size=1,
        max_size=8,
    ),
)
#: Distinct triples with one truth value each.
ATOMS = st.dictionaries(
    st.tuples(NAMES, NAMES, NAMES), st.integers(0, ONE), min_size=1, max_size=40
)

Atom = tuple[str, ...]


def as_dict(facts: Facts) -> dict[Atom, int]:
    """Facts as (first argument, predicate, further arguments) -> millionths."""
    found: dict[Atom, int] = {}
    for table in facts.atoms.values():
        for i in range(len(table)):
            first, *others = (facts.entities[int(column[i])] for column in table.arguments)
            value = ONE if table.millionths is None else int(table.millionths[i])
            found[(first, facts.predicates[int(table.predicate[i])], *others)] = value
    return found


def as_rows(targets: Targets) -> list[tuple[str, str, str]]:
    """Targets as triples, in their order."""
    columns = zip(targets.subject, targets.predicate, targets.object, strict=True)
    return [
        (targets.entities[int(s)], targets.predicates[int(p)], targets.entities[int(o)])
        for s, p, o in columns
    ]


def same_bytes(one: Facts, other: Facts) -> bool:
    """Whether two tables of facts agree to the last byte."""

    def parts(facts: Facts) -> list[object]:
        listed: list[object] = [facts.entities.blob, facts.predicates.blob]
        for arity, table in facts.atoms.items():
            arrays = [table.predicate, *table.arguments]
            arrays += [] if table.millionths is None else [table.millionths]
            listed += [arity, *((array.dtype, array.tobytes()) for array in arrays)]
        return listed

    return parts(one) == parts(other)


def write(path: Path, text: str | bytes) -> Path:
    """Write text exactly as it is."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
