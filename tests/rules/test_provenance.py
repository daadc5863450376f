"""Where models come from: the same for the same data in any order and engine, and read back."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.counting.data_summaries import summary_of_facts, summary_of_labels
from hornbeam.counting.opening import evidence_of
from hornbeam.errors import DataError
from hornbeam.rules.model_file import rules_fingerprint
from hornbeam.rules.provenance import Provenance, significant

NAMES = st.sampled_from(["a", "b", "c d", "é", "e'"])
ROWS = st.lists(
    st.one_of(
        st.tuples(NAMES, st.sampled_from(["p", "q"]), NAMES, st.just(1.0)),
        st.tuples(NAMES, st.just("soft"), NAMES, st.sampled_from([0.25, 1.0])),
        st.tuples(NAMES, st.just("unary")),
    ),
    min_size=1,
    unique_by=lambda row: row[:3],
)
PEOPLE = [f"p{i}" for i in range(12)]
FACTS = [
    (one, relation, PEOPLE[(i * k + 1) % 12])
    for i, one in enumerate(PEOPLE)
    for k, relation in enumerate(["knows", "likes"], start=2)
]
LABELS = [
    (one, "trusts", other, int((one, "knows", other) in FACTS))
    for one in PEOPLE
    for other in PEOPLE[:8]
]


def learned(**settings: object) -> hb.Model:
    language = hb.RuleLimits(min_coverage=2, max_length=2)
    return hb.learn(
        hb.read_facts(FACTS), hb.read_labels(LABELS), language=language,
        **settings,  # type: ignore[arg-type]
    )  # fmt: skip


@given(ROWS, st.randoms(use_true_random=False))
def test_summaries_do_not_depend_on_the_order(
    rows: list[tuple[str, ...]], mix: random.Random
) -> None:
    first = summary_of_facts(hb.read_facts(rows))
    shuffled = [*rows]
    mix.shuffle(shuffled)
    assert summary_of_facts(hb.read_facts(shuffled)) == first
    assert first is not None
    assert first.number == len(rows)
    if len(rows) > 1:
        fewer = summary_of_facts(hb.read_facts(rows[1:]))
        assert fewer is not None
        assert fewer.fingerprint != first.fingerprint


@given(ROWS)
def test_other_names_have_other_fingerprints(rows: list[tuple[str, ...]]) -> None:
    """Ids stay the same where all names become longer, and names are part of the fingerprint."""
    renamed = [(f"{row[0]}!", *row[1:2], *(f"{x}!" for x in row[2:3]), *row[3:]) for row in rows]
    first = summary_of_facts(hb.read_facts(rows))
    other = summary_of_facts(hb.read_facts(renamed))
    assert first is not None
    assert other is not None
    assert first.fingerprint != other.fingerprint


def test_a_database_has_the_same_summary(tmp_path: Path) -> None:
    lines = {
        "facts.tsv": "b\tp\ta\t1\na\tq\tc d\t1\né\tp\ta\t1\na\tsoft\tb\t0.25\n",
        "unary.tsv": "a\tstudent\nb\tstudent\n",
        "ta.tsv": "a\tb\té\nb\tb\ta\n",
    }
    for name, text in lines.items():
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / "facts.tsv"), str(tmp_path / "unary.tsv"), f"ta={tmp_path / 'ta.tsv'}"]
    expected = summary_of_facts(hb.read_facts(*files))
    assert expected is not None
    assert expected.number == 8
    with hb.open_duckdb(*files) as engine:
        opened = evidence_of(engine)
        assert opened is engine
        assert summary_of_facts(opened) == expected


def test_labels_have_a_summary_of_their_own() -> None:
    labels = hb.read_labels(LABELS)
    whole = summary_of_labels(labels)
    assert (whole.number, whole.true) == (len(LABELS), sum(row[3] for row in LABELS))
    assert summary_of_labels(hb.read_labels(LABELS[::-1])) == whole
    flipped = [(*LABELS[0][:3], 1 - LABELS[0][3]), *LABELS[1:]]
    assert summary_of_labels(hb.read_labels(flipped)).fingerprint != whole.fingerprint


def test_a_learned_model_says_where_it_comes_from() -> None:
    model = learned(seed=3)
    origin = model.provenance
    assert origin is not None
    assert (origin.method, origin.seed) == ("joint", 3)
    assert origin.settings == {"max_length": 2, "min_coverage": 2}
    assert origin.facts == summary_of_facts(hb.read_facts(FACTS))
    assert origin.labels == summary_of_labels(hb.read_labels(LABELS))
    assert origin.validation is not None
    assert model.trace is not None
    assert model.trace.fit.choice is not None
    assert origin.validation.value == pytest.approx(model.trace.fit.choice.log_loss, rel=1e-8)
    assert origin.rules == rules_fingerprint(model)
    again = hb.Model.parse(model.text)
    assert again.provenance == origin
    assert again.text == model.text == learned(seed=3).text
    assert learned(seed=3, refit=True).provenance != origin


def test_a_file_scores_as_the_model_that_was_saved() -> None:
    model = learned()
    facts, pairs = hb.read_facts(FACTS), hb.read_pairs([row[:3] for row in LABELS])
    again = hb.Model.parse(model.text)
    assert list(again.predict(facts, pairs)["score"]) == list(model.predict(facts, pairs)["score"])
    weights = [line.partition(":")[0] for line in model.text.splitlines()[1:]]
    assert max(len(weight.replace(".", "").lstrip("0").split("e")[0]) for weight in weights) <= 9


@given(st.floats(1e-12, 1e12))
def test_nine_digits(weight: float) -> None:
    [rounded] = significant([weight])
    assert rounded == pytest.approx(weight, rel=5e-9)
    assert significant([rounded]) == rounded


def test_the_card() -> None:
    model = learned()
    card = model.card()
    assert not card.edited
    assert card.as_dict()["learned"] == json.loads(json.dumps(card.as_dict()["learned"]))
    assert "Facts of knows" in str(card)
    edited = hb.Model.parse(model.text.replace(f"{model.rules[0].weight}:", "7.5:"))
    assert edited.card().edited
    assert "edited after learning" in str(edited.card())
    by_hand = hb.Model.parse("1: knows(A, B) -> t(A, B)")
    assert by_hand.card().provenance is None
    assert "The file does not say" in str(by_hand.card())
    named = model.card({"knows": "is <b>acquainted</b> with"})
    assert "is <b>acquainted</b> with" in str(named)
    assert "<b>acquainted" not in named._repr_html_()


@pytest.mark.parametrize(
    "written",
    [
        "[]", "3", '{"hornbeam": "1"}',
        '{"hornbeam": "1", "method": "joint", "settings": {}, "seed": "x"}',
        '{"hornbeam": "1", "method": "joint", "settings": {}, "seed": 0, "facts": {"number": 1}}',
    ],
)  # fmt: skip
def test_a_damaged_origin_is_refused(written: str) -> None:
    text = f'# hornbeam: {{"learned": {written}}}\n1: knows(A, B) -> t(A, B)\n'
    with pytest.raises(DataError, match=r'"learned" is .*expected what `hornbeam learn` writes'):
        hb.Model.parse(text)


def test_a_later_version_may_say_more() -> None:
    origin = {
        "hornbeam": "9.9", "method": "joint", "settings": {}, "seed": 0, "weather": "fine",
        "facts": {"number": 2, "fingerprint": "ab", "colour": "red"}, "rules": "",
    }  # fmt: skip
    model = hb.Model.parse(f"# hornbeam: {json.dumps({'learned': origin})}\n1: !t(A, B)\n")
    assert model.provenance is not None
    assert model.provenance.facts is not None
    assert model.provenance.facts.number == 2
    assert Provenance.from_dict(model.provenance.as_dict()) == model.provenance
