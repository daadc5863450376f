"""Numbers of entities: sorted, distinct, and carried along wherever facts change."""

from __future__ import annotations

from datetime import date

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hornbeam import read_facts, read_pairs
from hornbeam.base.dates import date_text, day_number
from hornbeam.facts.known import with_targets, without_targets
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import Facts

ROWS = st.lists(
    st.tuples(st.sampled_from("abcdez"), st.sampled_from(["year", "size"]), st.integers(-3, 3)),
    max_size=12,
)

#: Entity, attribute and value.
Row = tuple[str, str, float]


def named(facts: Facts) -> set[Row]:
    """The numbers of facts by name."""
    numbers = facts.numbers
    columns = zip(numbers.entity, numbers.attribute, numbers.value, strict=True)
    return {(facts.entities[int(e)], numbers.attributes[int(a)], float(v)) for e, a, v in columns}


def numbers_of(rows: list[Row]) -> tuple[Names, Numbers]:
    entities = Names.of(entity for entity, _, _ in rows)
    return entities, Numbers.of(entities, rows)


@given(ROWS, ROWS)
def test_joined_numbers_are_the_set_of_all_rows(one: list[Row], other: list[Row]) -> None:
    facts = read_facts([("b", "knows", "c"), ("c", "knows", "y")])
    facts = facts.joined(*numbers_of(one)).joined(*numbers_of(other))
    assert named(facts) == {*one, *other}
    assert len(facts.numbers) == len({*one, *other})
    assert list(facts) == [("b", "knows", "c"), ("c", "knows", "y")]
    keys = (facts.numbers.value, facts.numbers.entity, facts.numbers.attribute)
    assert np.array_equal(np.lexsort(keys), np.arange(len(facts.numbers)))


@given(ROWS)
def test_numbers_stay_with_their_entities_where_facts_change(rows: list[Row]) -> None:
    facts = read_facts([("b", "knows", "c")]).joined(*numbers_of(rows))
    pairs = read_pairs([("aa", "knows", "zz"), ("b", "knows", "c")])
    assert named(with_targets(facts, pairs)) == set(rows)
    assert named(without_targets(facts, pairs)) == set(rows)
    assert named(facts[:0]) == set(rows)


def test_values_of_an_attribute_are_sorted_by_entity_and_value() -> None:
    entities, numbers = numbers_of([("b", "year", 3), ("a", "year", 9), ("b", "year", 1)])
    ids, values = numbers.values_of("year")
    assert (entities.take(ids), values.tolist()) == (["a", "b", "b"], [9, 1, 3])
    assert len(numbers.values_of("size")[1]) == 0


@given(st.dates())
def test_a_date_is_its_number_of_days(day: date) -> None:
    assert date_text(day_number(day.isoformat())) == day.isoformat()
