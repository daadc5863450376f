"""Random parts of rules, as Hypothesis draws them."""

from __future__ import annotations

from hypothesis import strategies as st

from hornbeam.base.machine import MAX_NUMBER
from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Constant,
    Literal,
    Operator,
    Variable,
)

NAMES = st.from_regex(r"[A-Za-z$_][A-Za-z0-9$_]{0,6}", fullmatch=True)


TERMS = st.builds(Variable, NAMES) | st.builds(Constant, st.text())


ATOMS = st.builds(Atom, NAMES, st.lists(TERMS, min_size=1, max_size=4).map(tuple))


OPERATORS = (Operator.EQUAL, Operator.DIFFERENT, Operator.ORDERED)
COMPARISONS = st.builds(Comparison, TERMS, st.sampled_from(OPERATORS), TERMS)


LITERALS = st.builds(Literal, ATOMS | COMPARISONS, st.booleans())


SIDES = st.lists(LITERALS, max_size=4).map(tuple)


HEADS = SIDES.filter(bool)


WEIGHTS = st.floats(-MAX_NUMBER, MAX_NUMBER)
