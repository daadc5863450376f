from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hornbeam.language.rule_texts import IDENTIFIER, identifiers

#: Names that look alike once spelt as identifiers, among all others.
ALIKE = st.sampled_from(
    ["p", "P", "p_", "p_2", "P_2", "p 2", "/p/2", "42", "p_42", "_", "é", "ß", "日本", "p" * 100]
)
ANY = st.text(st.characters(exclude_characters="\t\r\n\0", codec="utf-8"), min_size=1)
LISTS = st.lists(ALIKE | ANY, max_size=12)


@given(LISTS)
def test_identifiers_are_proper_and_distinct_without_case(names: list[str]) -> None:
    spelt = identifiers(names)
    assert set(spelt) == set(names)
    assert all(IDENTIFIER.match(identifier) for identifier in spelt.values())
    assert len({identifier.lower() for identifier in spelt.values()}) == len(spelt)


@given(LISTS, st.data())
def test_order_and_repetition_do_not_matter(names: list[str], data: st.DataObject) -> None:
    again = data.draw(st.permutations(names + names[:3]))
    assert identifiers(again) == identifiers(names)


@given(LISTS)
def test_a_lone_identifier_stays_as_it_is(names: list[str]) -> None:
    spelt = identifiers(names)
    lower = [name.lower() for name in set(names) if IDENTIFIER.match(name)]
    for name in names:
        if IDENTIFIER.match(name) and lower.count(name.lower()) == 1:
            # another name's number may have taken it, never an improper name
            assert spelt[name] == name or spelt[name].startswith(f"{name}_")


@given(LISTS)
def test_identifiers_of_identifiers_are_themselves(names: list[str]) -> None:
    spelt = identifiers(names)
    assert identifiers(spelt.values()) == {i: i for i in spelt.values()}


def test_names_of_the_same_spelling_are_numbered_in_their_order() -> None:
    names = [chr(0x4E00 + i) for i in range(1000)]
    spelt = identifiers(names)
    assert [spelt[name] for name in names] == ["p", *(f"p_{i}" for i in range(2, 1001))]
