"""Codes of steps and keys of sequences: what is packed comes back, whichever end it started at."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.facts.names import Names
from hornbeam.rules.body import MAX_LENGTH, Body, Step
from hornbeam.rules.codes import (
    code_limit,
    codes_of_keys,
    from_subject,
    inverse_code,
    is_inverse,
    key_bits,
    path_codes,
    predicate_of,
    reversed_sequence,
    sequence_key,
    sequence_keys,
    step_code,
)

PREDICATES = st.integers(0, predicate_of(1 << key_bits(MAX_LENGTH)) - 2)


@given(PREDICATES, st.booleans())
def test_a_code_says_predicate_and_direction(predicate: int, inverse: bool) -> None:
    code = step_code(predicate, inverse)
    assert (predicate_of(code), is_inverse(code)) == (predicate, inverse)
    assert inverse_code(code) == step_code(predicate, not inverse)
    assert 0 < code < code_limit(predicate + 1)


def test_no_predicate_has_no_code_in_either_direction() -> None:
    assert step_code(-1) == inverse_code(0) == 0
    codes = np.array([0, 2, 5], dtype=np.uint32)
    assert inverse_code(codes).tolist() == [0, 3, 4]
    assert inverse_code(codes).dtype == codes.dtype
    assert is_inverse(codes).tolist() == [False, False, True]
    assert step_code(predicate_of(codes[1:]), is_inverse(codes[1:])).tolist() == [2, 5]


@given(st.lists(st.tuples(PREDICATES, st.booleans()), min_size=1, max_size=MAX_LENGTH))
def test_a_key_gives_its_sequence_back_from_either_end(steps: list[tuple[int, bool]]) -> None:
    codes = [step_code(*step) for step in steps]
    bits = key_bits(MAX_LENGTH)
    for flipped in (False, True):
        walked = reversed_sequence(codes) if flipped else codes
        key = np.array([sequence_key(walked, bits)], dtype=np.uint64)
        assert sequence_keys(np.array([walked], dtype=np.int32), bits).tolist() == key.tolist()
        rows = from_subject(codes_of_keys(key, bits, MAX_LENGTH), flipped)
        assert rows.tolist() == [codes + [0] * (MAX_LENGTH - len(codes))]


def test_a_path_has_codes_where_all_its_predicates_are_known() -> None:
    names = Names.of(["cites", "mentions"])
    path = Body((Step("mentions"), Step("cites", inverse=True)), "knows")
    assert path_codes(path, names) == [4, 3]
    assert path_codes(Body((Step("likes"),), "knows"), names) is None
