"""One contract for all that shows scores: those from sampled negatives are no decisions.

Texts and pages of a model whose negatives were sampled call no pair true or false, and show scores
with their place among known links. Those of the same rules from given labels decide as ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import pytest

import hornbeam as hb
from hornbeam.explaining.known_scores import CAUTION, cautions
from hornbeam.model import Model
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.site import Site
from hornbeam.serve.visits import Visit
from tests.support.commands import hornbeam_, write
from tests.support.pages import Page
from tests.support.servers import FACTS, OTHER_RULES, PAIRS, RULES

SAMPLED = '# hornbeam: {"sampled_negatives": "typed"}\n'
PAIR = {"subject": "ann", "predicate": "trusts", "object": "dora"}
OTHER = {"subject2": "ann", "predicate2": "trusts", "object2": "cy"}
EDITED = Edits(MappingProxyType({1: 0.1}))
#: How a text calls a pair true or false, or speaks of that decision.
DECIDES = re.compile(r"\b(true|false|decisions?|called|calls|MAP state|probable state)\b", re.I)
#: Rules in words, as of any model.
PRIOR = re.compile(r"Without evidence a pair is (true|false)")
PLACE = re.compile(r"higher than (\d+ %|\d+|none|all)( of|\b)")


def explorer(header: str) -> RuleExplorer:
    """An explorer without labels: what is true or false on its pages is a decision."""
    return open_rule_explorer(
        hb.read_facts(FACTS), Model.parse(header + RULES), "model.psl",
        other=Model.parse(header + OTHER_RULES), other_name="other.psl",
        pairs=hb.read_pairs(PAIRS), threads=1,
    )  # fmt: skip


def explanation(header: str) -> hb.Explanation:
    return Model.parse(header + RULES).explain(FACTS, ("ann", "dora"))


def page(path: str, query: dict[str, str], edits: Edits = NO_EDITS) -> Callable[[str], str]:
    """The text that a page shows."""

    def shown(header: str) -> str:
        site = Site(explorer(header))
        answer = site.addresses[f"/{path}"].page(Visit(query, edits, path=f"/{path}"))
        return Page.of(answer.body).words

    return shown


#: Everything that shows scores of single pairs.
OUTPUTS: dict[str, Callable[[str], str]] = {
    "text": lambda header: repr(explanation(header)),
    "notebook": lambda header: Page.of(explanation(header)._repr_html_()).words,
    "/link": page("link", PAIR),
    "/links": page("links", PAIR | OTHER),
    "/flip": page("flip", PAIR),
    "/entity": page("entity", {"name": "ann"}),
    "/query": page("query", {"subject": "ann", "relation": "trusts"}),
    "/pairs": page("pairs", {}),
    "/rules": page("rules", {}, EDITED),
    "/compare": page("compare", {}, EDITED),
}
#: Outputs that say what the model decides if it does.
DECIDING = {"text", "notebook", "/link", "/links", "/flip"}
#: Addresses without a score: searches, the graph, changes, files. Home has every caution instead.
WITHOUT_SCORES = {"/", "/search", "/around", "/pin", "/edit", "/edited.psl"}
#: Second addresses of pages.
ALIASES = {"/reasons": "/link", "/relation": "/rules"}


def test_every_address_is_held_to_the_contract() -> None:
    paths = set(Site(explorer(SAMPLED)).addresses)
    pages = {path for path in paths if not path.endswith(".json")} - set(ALIASES)
    assert pages == {name for name in OUTPUTS if name.startswith("/")} | WITHOUT_SCORES
    assert ALIASES.keys() < paths


@pytest.mark.parametrize("output", OUTPUTS)
def test_scores_from_sampled_negatives_have_a_place_and_decide_nothing(output: str) -> None:
    text = OUTPUTS[output](SAMPLED)
    assert not DECIDES.findall(PRIOR.sub("", text))
    assert PLACE.search(text)
    assert text.count(CAUTION) == 1


@pytest.mark.parametrize("output", OUTPUTS)
def test_scores_from_given_labels_are_shown_as_ever(output: str) -> None:
    text = OUTPUTS[output]("")
    assert bool(DECIDES.findall(PRIOR.sub("", text))) == (output in DECIDING)
    assert not PLACE.search(text)
    assert CAUTION not in text


def test_home_has_every_caution() -> None:
    shown = page("", {})(SAMPLED)
    [caution] = cautions(Model.parse(SAMPLED + RULES))
    assert caution in shown
    assert not DECIDES.findall(PRIOR.sub("", shown.replace(caution, "")))


def test_parts_of_a_page_say_the_caution_where_it_is() -> None:
    site = Site(explorer(SAMPLED))
    part = site.addresses["/flip"].page(Visit(PAIR, is_htmx=True)).body
    edited = site.addresses["/edit"].page(Visit({"what": "switch", "rule": "1"}, is_htmx=True)).body
    for body in (part, edited):
        assert not DECIDES.findall(Page.of(body).words)
        assert PLACE.search(body)
        assert CAUTION not in body


def test_a_page_says_the_caution_of_the_models_on_it() -> None:
    both = explorer("")
    both.other = explorer(SAMPLED).other
    site = Site(both)
    assert CAUTION in site.addresses["/compare"].page(Visit()).body
    assert CAUTION not in site.addresses["/link"].page(Visit(PAIR)).body


@pytest.mark.parametrize("edits", [NO_EDITS, EDITED, Edits(off=frozenset({1}))])
def test_tables_and_links_show_the_place_under_the_visitors_weights(edits: Edits) -> None:
    served = explorer(SAMPLED)
    model = served.model.with_rules(edits.scoring(served.model.rules))
    expected = model.explainer(FACTS).known
    for subject, target, object_ in PAIRS:
        found = served.explain(subject, target, object_, edits)
        assert found.place == expected.place(target, found.score)
        site = Site(served)
        rows = site.addresses["/pairs"].page(Visit(edits=edits)).body
        assert found.place.short in rows
    if edits:
        unedited = served.explain(*PAIRS[0], NO_EDITS)
        assert unedited.place == served.model.explainer(FACTS).known.place("trusts", unedited.score)


def test_a_report_speaks_of_scores_and_labels_only() -> None:
    facts = [(f"a{i}", "p", f"b{i}") for i in range(6)] + [(f"a{i}", "t", f"b{i}") for i in (0, 1)]
    labels = [(f"a{i}", "t", f"b{j}", int(i + j < 7)) for i in range(2, 6) for j in (i, 2)]
    rules = "2: p(A, B) -> t(A, B)\n1: !t(A, B)\n"
    decided, sampled = (Model.parse(head + rules).report(facts, labels) for head in ("", SAMPLED))
    decision = re.compile(r"called true|called false|decision", re.I)
    assert len(decision.findall(Page.of(decided).words)) > 5
    assert not decision.findall(Page.of(sampled).words)
    assert PLACE.search(Page.of(sampled).words)
    assert not PLACE.search(Page.of(decided).words)
    assert "False pairs that score 0.5 or more" in Page.of(sampled).words
    assert cautions(Model.parse(SAMPLED + rules))[0] in Page.of(sampled).words


def test_the_command_line_learns_it_and_explain_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [(f"a{i}", name, f"b{i % 7}") for i in range(30) for name in ("p", "t")[: 1 + i % 3]]
    facts = write(tmp_path / "facts.tsv", rows)
    given = ("--facts", facts)
    assert hornbeam_("learn", *given, "--target", "t", "-o", "model.psl", "-q").code == 0
    asked = ("explain", "model.psl", *given, "a0", "b0")
    known = sum(row[1] == "t" for row in rows)
    text = hornbeam_(*asked).stdout
    assert not DECIDES.findall(PRIOR.sub("", text))
    assert PLACE.search(text)
    found = hornbeam_(*asked, "--json").json
    assert found["decision"] == (found["score"] >= 0.5)
    assert (found["place"]["compared"], found["place"]["known"]) == (known, known)
    assert found["place"]["words"] in text
