"""Every kind of model does what users do with a model, by the same names and keywords."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.errors import DataError, InputError
from hornbeam.model import AnyModel as SharedModel
from hornbeam.scoring.evaluation import evaluate
from tests.support.kernels import compiles

#: One graph model for all.
pytestmark = [pytest.mark.slow, compiles]

Triple = tuple[str, str, str]
AnyModel = hb.Model | hb.GraphModel
KINDS: tuple[type[AnyModel], ...] = (hb.Model, hb.GraphModel)

ROWS: list[Triple] = [
    *((f"drug{i}", "binds", f"gene{i % 4}") for i in range(16)),
    *((f"drug{i}", "treats", f"disease{i % 4}") for i in range(12)),
    *((f"gene{g}", "causes", f"disease{g}") for g in range(4)),
]
FACTS = hb.read_facts(ROWS)
#: Drugs 12 to 15 bind the genes 0 to 3, and no fact says what they treat.
TRUE: list[Triple] = [(f"drug{i}", "treats", f"disease{i % 4}") for i in range(12, 16)]
FALSE: list[Triple] = [(f"drug{i}", "treats", f"disease{(i + 1) % 4}") for i in range(12, 16)]
LABELS = hb.read_labels([(*row, 1) for row in TRUE] + [(*row, 0) for row in FALSE])
NAMES = {"drug12": "Aspirin", "disease0": "Fever"}
RULES = "2.0: binds(A, B) & causes(B, C) -> treats(A, C)\n1.0: !treats(A, B)\n"

#: Public names and keywords of one kind only, each with the reason.
ONE_KIND: dict[type[AnyModel], dict[str, str]] = {
    hb.Model: {
        "map_state": "pairs of a collective model have one state together; a graph's have none",
        "to_table(worth)": "the scores of a graph do not come from its listed rules alone",
        "to_table(progress)": "listing the rules of a graph judges none of them",
        "explainer(at)": "the explainer of a graph is asked at a time, link by link",
    },
    hb.GraphModel: {
        "propose(leave_out_linked)": "how some graphs were split; pairs have labels instead",
        "evaluate_ranks(leave_out_linked)": "how some graphs were split",
        "ranker(leave_out_linked)": "how some graphs were split",
        "ranker(test)": "a database fetches the known answers of a test's queries at once",
        "evaluate_ranks(filter_time)": "test facts with a time are asked at it",
        "evaluate_ranks(history)": "test facts with a time are asked at it",
        "explain(reasons)": "a graph has too many rules to show all that fire",
        "explainer(reasons)": "a graph has too many rules to show all that fire",
    },
}


@pytest.fixture(scope="module")
def models() -> dict[type[AnyModel], AnyModel]:
    return {hb.Model: hb.Model.parse(RULES), hb.GraphModel: hb.learn_graph(FACTS, max_length=2)}


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def model(request: pytest.FixtureRequest, models: dict[type[AnyModel], AnyModel]) -> AnyModel:
    return models[request.param]


def links(table: hb.ResultTable) -> list[Triple]:
    relation = "relation" if "relation" in table.names else "predicate"
    return list(zip(table["subject"], table[relation], table["object"], strict=True))


def test_a_file_of_either_kind_is_opened_by_one_function(model: AnyModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = hb.load(tmp_path / "model")
    assert loaded == model == type(model).load(tmp_path / "model")
    assert type(loaded) is type(model)


def test_the_text_is_the_model(model: AnyModel) -> None:
    again = type(model).parse(model.text)
    assert again == model
    assert again.text == model.text
    assert type(model).parse(model.text.replace("causes", "cures")) != model
    with pytest.raises(DataError, match=r"^mine, line 1"):
        type(model).parse("1.0: binds(A", name="mine")


def test_it_shows_itself(model: AnyModel) -> None:
    assert "treats" in model.targets
    assert len(model.to_table())
    assert "<table" in model._repr_html_()
    assert repr(model).startswith(type(model).__name__)


def test_predict_scores_in_order_with_probabilities(model: AnyModel) -> None:
    asked = [row for both in zip(TRUE, FALSE, strict=True) for row in both]
    table = model.predict(FACTS, asked, names=NAMES)
    assert table.names == [
        "subject", "predicate", "object", "score", "probability", "subject_name", "object_name",
    ]  # fmt: skip
    assert links(table) == asked
    assert table["subject_name"][0] == "Aspirin"
    likely = table["probability"]
    assert (likely[::2] > likely[1::2]).all()
    assert ((likely >= 0.0) & (likely <= 1.0)).all()
    by_name = [("Aspirin", "treats", "Fever"), *asked[1:]]
    scorer = model.scorer(FACTS, threads=1)
    for again in (scorer.predict(asked, names=NAMES), scorer.predict(by_name, names=NAMES)):
        assert links(again) == asked
        np.testing.assert_array_equal(again["score"], table["score"])
        np.testing.assert_array_equal(again["probability"], likely)


def test_prepared_forms_grow_with_the_facts(model: AnyModel) -> None:
    """As if the new facts, with a new entity and a new relation, had been read with the others."""
    new = [
        ("drug16", "binds", "gene0"),
        ("drug16", "cheaper", "drug3"),
        ("drug1", "binds", "gene3"),
    ]
    asked = [("drug16", "treats", "disease0"), ("drug1", "treats", "disease3"), TRUE[0]]
    whole = hb.read_facts([*ROWS, *new])
    wanted = model.predict(whole, asked)
    for table in (
        model.scorer(FACTS).with_facts(new[:1]).with_facts(new[1:]).predict(asked),
        model.predict(FACTS + hb.read_facts(new), asked),
    ):
        np.testing.assert_array_equal(table["score"], wanted["score"])
    query = [("drug16", "treats", "?")]
    ranker = model.ranker(FACTS).with_facts(new)
    assert list(ranker.rank(query)) == list(model.rank(whole, query))
    explained = model.explainer(FACTS).with_facts(new).explain(*asked[0])
    assert explained.as_dict() == model.explain(whole, asked[0]).as_dict()
    if isinstance(model, hb.Model):
        with hb.open_duckdb(ROWS) as engine, pytest.raises(InputError, match="takes no new facts"):
            model.scorer(engine).with_facts(new)


def test_a_known_link_is_no_evidence_for_itself(model: AnyModel) -> None:
    for known in ROWS[16:20]:
        others = [row for row in ROWS if row != known]
        given, hidden = (model.predict(facts, [known]) for facts in (FACTS, others))
        assert list(given) == list(hidden)


def test_rank_answers_with_new_links_best_first(model: AnyModel) -> None:
    queries = [("drug12", "treats", "?"), ("?", "treats", "disease1")]
    table = model.rank(FACTS, queries, top=3)
    assert set(links(table)).isdisjoint(ROWS)
    for query, answer in ((1, TRUE[0]), (2, TRUE[1])):
        rows = [row for row in table.dicts() if row["query"] == query]
        assert (rows[0]["subject"], rows[0]["relation"], rows[0]["object"]) == answer
        assert [row["score"] for row in rows] == sorted(row["score"] for row in rows)[::-1]
        assert len(rows) <= 3
    assert list(model.ranker(FACTS, threads=1).rank(queries, top=3)) == list(table)


def test_predict_and_rank_agree(model: AnyModel) -> None:
    ranked = model.rank(FACTS, [(row[0], "treats", "?") for row in TRUE], top=100)
    scored = model.predict(FACTS, links(ranked))
    np.testing.assert_allclose(scored["score"], ranked["score"], rtol=1e-12)


def test_propose_finds_the_best_new_links(model: AnyModel) -> None:
    subjects = [row[0] for row in TRUE]
    table = model.propose(FACTS, target="treats", subjects=subjects, top=4)
    assert table.names[:4] == ["subject", "predicate", "object", "score"]
    assert sorted(links(table)) == sorted(TRUE)
    by = table["probability" if "probability" in table.names else "score"]
    assert (np.diff(by) <= 0.0).all()
    each = model.propose(FACTS, target="treats", subjects=subjects, top=1, per_subject=True)
    assert links(each) == TRUE


def test_objects_choose_links_as_subjects_do(model: AnyModel) -> None:
    every = model.rank(FACTS, [("?", "treats", "disease1"), ("?", "treats", "disease2")], top=100)
    found = model.propose(FACTS, target="treats", objects=["disease2", "disease1"], top=1000)
    assert sorted(links(found)) == sorted(links(every))
    by_link = dict(zip(links(every), every["score"], strict=True))
    scores = [by_link[link] for link in links(found)]
    np.testing.assert_allclose(np.array(found["score"], float), np.array(scores, float))
    subjects = [row[0] for row in TRUE]
    both = partial(model.propose, FACTS, target="treats", subjects=subjects)
    wanted = [row for row in links(both(top=1000)) if row[2] == "disease1"]
    assert wanted
    assert links(both(objects=["disease1"], top=1000)) == wanted
    assert links(both(objects=["disease1"], top=1)) == wanted[:1]
    each = both(objects=["disease1"], per_subject=True)
    assert sorted(links(each)) == sorted(wanted)
    with pytest.raises(InputError, match="no fact has the object 'nothing'"):
        model.propose(FACTS, target="treats", objects=["nothing"])


def without_a_rule(model: AnyModel) -> AnyModel:
    """The model without one of its rules."""
    if isinstance(model, hb.Model):
        return model.with_rules(model.rules[1:])
    parts = list(model.relations)
    k = next(k for k, part in enumerate(parts) if part.rules)
    parts[k] = replace(parts[k], rules=parts[k].rules[1:])
    return replace(model, relations=tuple(parts))


def test_models_differ_by_rules_and_pairs(model: AnyModel) -> None:
    same = model.diff(model, FACTS, LABELS)
    assert [*same.gone, *same.new, *same.changed, *same.settings] == []
    assert same.same == len(model.to_table())
    assert same.old_figures == same.new_figures == model.evaluate(FACTS, LABELS)
    assert same.sides is not None
    assert len(same.sides) == 0
    fewer = without_a_rule(model)
    [gone] = model.diff(fewer).gone
    [new] = fewer.diff(model).new
    assert (gone.rule, gone.weight, gone.other_weight) == (new.rule, None, new.weight)
    with pytest.raises(InputError, match="give `facts` and `labels`"):
        model.diff(fewer, FACTS)
    if isinstance(model, hb.GraphModel):
        with pytest.raises(InputError, match="expected one kind"):
            model.diff(hb.Model.parse(RULES))


def test_labels_judge_probabilities(model: AnyModel) -> None:
    found = model.evaluate(FACTS, LABELS)
    assert (found.n, found.positives, found.auc_roc) == (8, 4, 1.0)
    assert found == evaluate(LABELS.truth, model.predict(FACTS, LABELS)["probability"])


def test_true_triples_judge_ranks(model: AnyModel) -> None:
    found = model.evaluate_ranks(FACTS, TRUE)
    assert found.queries == 8
    assert found.mrr == 1.0
    assert model.ranker(FACTS).evaluate(TRUE).ranks.rank.tolist() == found.ranks.rank.tolist()


def test_explain_gives_reasons(model: AnyModel) -> None:
    found = model.explain(FACTS, ("drug12", "disease0"), target="treats")
    told = found.as_dict()
    assert (told["subject"], told["object"]) == ("drug12", "disease0")
    assert told["reasons"]
    assert len(found.to_table())
    text = "\n".join(line for _, line in found.lines())
    assert "gene0" in text
    assert model.explain(FACTS, TRUE[0]).as_dict() == told
    assert model.explainer(FACTS).explain(*TRUE[0]).as_dict() == told
    named = model.explain(FACTS, ("Aspirin", "treats", "Fever"), names=NAMES)
    assert "Aspirin" in next(named.lines())[1]
    with pytest.raises(InputError, match="unknown target predicate 'cures'"):
        model.explain(FACTS, ("drug12", "cures", "disease0"))


def test_report_is_a_page(model: AnyModel) -> None:
    judged = {"labels": LABELS} if isinstance(model, hb.Model) else {"test": TRUE}
    sections = ["card", "learned", "quality", "learning", "mistakes", "data"]
    for given, expected in (
        ({}, ["card", "learned", "learning", "data"]),
        (judged, sections),
    ):
        page = model.report(FACTS, **given)
        assert page.startswith("<!doctype html>")
        assert re.findall(r'<section id="(\w+)"', page) == expected
        assert re.findall(r'<li><a href="#(\w+)"', page) == expected


def test_export_writes_what_it_names(model: AnyModel, tmp_path: Path) -> None:
    of_rules = isinstance(model, hb.Model)
    written = model.export(FACTS, TRUE, tmp_path / ("program" if of_rules else "rules.csv"))
    assert written.is_file()
    with pytest.raises(InputError, match="`output`"):
        model.export(FACTS, TRUE)


@pytest.mark.parametrize(
    ("kind", "call", "message"),
    [
        (hb.Model, lambda m: m.report(FACTS, LABELS, test=TRUE), "either `labels`"),
        (hb.Model, lambda m: m.report(FACTS, filter=TRUE), "`filter` needs `test`"),
        (hb.Model, lambda m: m.export(output="x"), "exported with its facts and pairs"),
        (hb.GraphModel, lambda m: m.report(FACTS, LABELS), "ranks answers: give `test`"),
        (hb.GraphModel, lambda m: m.report(FACTS, filter=TRUE), "`filter` needs `test`"),
        (hb.GraphModel, lambda m: m.export(output="x.csv", plain=True), "no PSL program"),
        (hb.GraphModel, lambda m: m.to_table(FACTS), "the counts of their learning"),
        (hb.GraphModel, lambda m: m.predict(FACTS, TRUE, score="map"), "one kind of score"),
        (hb.GraphModel, lambda m: m.rank(FACTS, TRUE, known=True), "new answers only"),
        (hb.GraphModel, lambda m: m.propose(FACTS, engine="duckdb"), "facts in memory only"),
    ],
)
def test_what_a_kind_cannot_do_it_says(
    models: dict[type[AnyModel], AnyModel],
    kind: type[AnyModel],
    call: Callable[[AnyModel], object],
    message: str,
) -> None:
    with pytest.raises(InputError, match=message):
        call(models[kind])


def test_a_score_that_is_no_probability_says_so() -> None:
    header = '# hornbeam: {"sampled_negatives": "typed"}\n'
    for model, score in ((hb.Model.parse(RULES), "map"), (hb.Model.parse(header + RULES), "mean")):
        table = model.predict(FACTS, TRUE, score=score)
        assert np.isnan(table["probability"]).all()
        assert [row["probability"] for row in table.dicts()] == [None] * len(TRUE)


def test_a_triple_that_no_rule_proposes_has_no_score(
    models: dict[type[AnyModel], AnyModel],
) -> None:
    unknown = [("drug12", "treats", "nothing"), ("drug12", "treats", "disease0")]
    table = models[hb.GraphModel].predict(FACTS, unknown)
    assert np.isnan(table["score"]).tolist() == [True, False]
    assert table["probability"][0] == 0.0


def public(kind: type) -> set[str]:
    """Methods and properties for users: those of a kind itself, and those that both share."""
    wanted = (property, classmethod, staticmethod)
    return {
        name
        for name, member in (vars(SharedModel) | vars(kind)).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, wanted))
    }


def keywords(kind: type, name: str) -> dict[str, tuple[object, object]]:
    """Parameters of a method with kind and default; none of a property."""
    member = inspect.getattr_static(kind, name)
    if isinstance(member, property | cached_property):
        return {}
    found = inspect.signature(getattr(kind, name)).parameters.values()
    return {one.name: (one.kind, one.default) for one in found}


def test_both_kinds_have_the_same_methods_and_keywords() -> None:
    for kind, other in (KINDS, KINDS[::-1]):
        alone = {name for name in public(kind) if not hasattr(other, name)}
        shared = public(kind) - alone
        for name in shared:
            ours, theirs = keywords(kind, name), keywords(other, name)
            alone |= {f"{name}({keyword})" for keyword in ours.keys() - theirs.keys()}
            common = ours.keys() & theirs.keys()
            assert {key: ours[key] for key in common} == {key: theirs[key] for key in common}, name
        assert alone == set(ONE_KIND[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_what_users_do_with_a_model(kind: type[AnyModel]) -> None:
    wanted = (
        "predict rank propose evaluate evaluate_ranks explain report export to_table text parse "
        "save load scorer ranker explainer targets is_collective"
    )
    assert set(wanted.split()) <= public(kind)
