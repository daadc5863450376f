"""The report says what is true of the model, is one safe file, and can be read by everyone."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.base.choices import Sampling
from hornbeam.explaining.waterfall import COLOURS
from hornbeam.reporting.rendering import named, percent, signed, template_text
from hornbeam.reporting.report import LARGEST
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Rule
from hornbeam.scoring.evaluation import confusion
from tests.support.further_atoms import with_atoms
from tests.support.pages import Page
from tests.support.report_worlds import NASTY, PEOPLE, nasty_world, world

MODEL = """3: knows(A, B) & knows(B, C) -> trusts(A, C)
1.5: owes(A, B) -> !trusts(A, B)
0.5: same(A, B) -> trusts(A, B)
1: !trusts(A, B)
"""


def page_of(
    model: hb.Model | None = None, data: tuple[hb.Facts, hb.Targets] | None = None
) -> tuple[str, Page]:
    html = (model or hb.Model.parse(MODEL)).report(*(data or world()))
    return html, Page.of(html)


def test_the_figures_are_those_of_the_model() -> None:
    facts, labels = world()
    model = hb.Model.parse(MODEL)
    _, page = page_of(model)
    found = model.evaluate(facts, labels)
    assert f"AUC-ROC {found.auc_roc:.3f}" in page.words
    assert f"Log-loss {found.log_loss:.3f}" in page.words
    scores = model.predict(facts, labels)["score"]
    called, true = scores >= 0.5, labels.positive
    table = confusion(true, called)
    assert table.true_positive == int((called & true).sum())
    assert table.false_negative == int((~called & true).sum())
    assert table.accuracy == pytest.approx(float(np.mean(called == true)))
    expected = (f"true pairs {table.true_positive} {table.false_negative} "
                f"false pairs {table.false_positive} {table.true_negative}")  # fmt: skip
    assert expected in page.words


def test_every_rule_stands_in_words_and_in_psl() -> None:
    _, page = page_of()
    assert "If A knows B and B knows C, then A trusts C." in page.words
    assert "knows(A, B) & knows(B, C) -> trusts(A, C)" in page.words
    assert "If A owes B, then not A trusts B." in page.words
    assert "Without evidence a pair is false: not A trusts B." in page.words
    assert "For example p0 — knows → p1 — knows → p2" in page.words
    # 12 of 12 pairs two steps apart, one of them labelled false
    assert "applies to 12 labelled pairs right on 91.7 %" in page.words


ALL_KINDS = """1: knows(A, C) -> trusts(A, B) [log]
0.9: knows(C, B) [n >= 1] & adult(A) -> trusts(A, B)
0.8: (knows(A, C) & knows(C, B)) [n >= 1] & knows(A, 'p1') -> trusts(A, B) [exists]
0.7: knows(A, B) & knows(B, C) -> trusts(A, C) [share / 0.5]
0.6: (A == 'p3') -> !trusts(A, B)
0.5: trusts(A, B)
"""


def test_every_kind_of_rule_has_words_figures_and_an_example() -> None:
    facts, labels = world()
    facts = with_atoms(facts, "adult", *((name,) for name in PEOPLE[::2]))
    model = hb.Model.parse(ALL_KINDS)
    _, page = page_of(model, (facts, labels))
    for words in (
        "If A has knows, then A trusts B, counted by log. knows(A, C) -> trusts(A, B) [log] "
        "applies to 25 labelled pairs",
        "If 1 or more things knows B and adult holds for A, then A trusts B. "
        "knows(C, B) [n >= 1] & adult(A) -> trusts(A, B) applies to 12 labelled pairs right on "
        "50 %",
        "For example p2 ← knows — p1, and adult(p0)",
        "If A knows C and C knows B in 1 or more ways, and A knows 'p1', then A trusts B, counted "
        "once.",
        "For example p0 — knows → p1 — knows → p2, and p0 — knows → p1",
        "If A knows B and B knows C, then A trusts C, counted by share.",
        "If A is 'p3', then not A trusts B. (A == 'p3') -> !trusts(A, B) applies to 2 labelled "
        "pairs right on 100 %",
        "Counted by log: n groundings of a rule weigh log2(1 + n) times its weight.",
        "Counted once: one grounding of a rule weighs as much as many.",
        "Else n groundings of a rule weigh n times its weight.",
        "The prior of trusts is positive (weight 0.5)",
        "adult 1 6 – – – yes",
    ):
        assert words in page.words
    found = model.evaluate(facts, labels)
    assert f"AUC-ROC {found.auc_roc:.3f}" in page.words


def test_sampled_negatives_are_told_of() -> None:
    facts, _ = world()
    labels = hb.read_labels([("p0", "knows", "p1", 1.0), ("p0", "knows", "p3", 0.0)])
    language = hb.RuleLimits(max_length=2, min_coverage=1)
    sampling: Sampling = "uniform"
    model = hb.learn(facts, target="knows", language=language, negative_sampling=sampling)
    _, page = page_of(model, (facts, labels))
    assert "False pairs were sampled (uniform), 1 for every true one" in page.words
    assert "rules learn which types of entities go together" in page.words


def test_the_worst_mistakes_are_explained() -> None:
    facts, labels = world()
    model = hb.Model.parse(MODEL)
    _, page = page_of(model)
    at = page.words.index("Called true but false")
    assert "p3 trusts p5 score" in page.words[at:]
    explained = model.explain(facts, ("p3", "p5"))
    assert signed(explained.reasons[0].pull or 0.0) in page.words[at:]
    assert explained.flip is not None
    fact = explained.flip.facts[0]
    assert f"{fact.subject} {fact.predicate} {fact.object}" in page.words[at:]
    missed = page.words.index("Called false but true")
    assert "p1 trusts p9 score" in page.words[missed:]
    assert labels.positive.sum() == 12


def test_the_data_are_profiled() -> None:
    _, page = page_of()
    assert "14 facts about 12 entities." in page.words
    assert "1 labelled pairs name an entity that no fact has" in page.words
    assert "nobody" in page.words
    assert "knows 2 12 12 12 1 yes" in page.words


def test_missing_predicates_are_named() -> None:
    with pytest.warns(hb.errors.HornbeamWarning, match="no predicate 'gone'"):
        _, page = page_of(hb.Model.parse(MODEL + "1: gone(A, B) -> trusts(A, B)\n"))
    assert "no fact has gone, so the rules that need it have no groundings" in page.words


@pytest.mark.slow
def test_how_it_was_learned_comes_from_the_trace() -> None:
    facts, labels = world()
    model = hb.learn(facts, labels, language=hb.RuleLimits(max_length=2, min_coverage=1))
    trace = model.trace
    assert trace is not None
    assert trace.fit.choice is not None
    assert {row.kept for row in trace.candidates} == {True, False}
    html, page = page_of(model)
    kept, dropped = len(trace.kept), len(trace.dropped)
    assert f"Of the {kept + dropped} candidates, {kept} became rules." in page.words
    assert f"{dropped} dropped, and why" in page.words
    for row in trace.candidates:
        assert f"{row.clause} {row.coverage} {row.coverage_true} {row.paths} {row.outcome}" in (
            page.words
        )
    run = trace.fit.choice.validation
    assert len(run.folds) == 5
    assert np.mean(run.folds) == pytest.approx(min(run.log_loss), rel=0.2)
    assert f"a standard error of {run.standard_error:.2g}" in page.words
    assert "counts log, exists, share; bodies paths, open, unary" in page.words
    for figure in ("validation", "path", "folds", "seconds"):
        assert f'id="{figure}-t"' in html


def test_without_a_trace_the_page_says_so() -> None:
    _, page = page_of()
    assert "there is no trace next to the model file" in page.words


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_labels_of_one_class_have_no_curves(label: float) -> None:
    facts, _ = world()
    html, page = page_of(data=(facts, hb.read_labels([("p0", "trusts", "p2", label)])))
    assert "AUC-ROC undefined" in page.words
    assert 'id="roc-t"' not in html
    assert 'id="calibration-t"' in html


def test_soft_facts_and_other_relaxations() -> None:
    facts = hb.read_facts([("a", "p", "m", 0.75), ("m", "q", "b", 0.5), ("a", "p", "b", 1.0)])
    labels = hb.read_labels([("a", "t", "b", 0.3), ("b", "t", "a", 0.9)])
    model = hb.Model.parse("1: p(A, B) & q(B, C) -> t(A, C) ^2\n1: !t(A, B) ^2\n")
    _, page = page_of(model, (facts, labels))
    assert "3 facts about 3 entities, 2 of them with a truth value between 0 and 1" in page.words
    assert f"Log-loss {model.evaluate(facts, labels).log_loss:.3f}" in page.words
    # the body is true by 0.75 + 0.5 - 1 for the first pair, and false for the other
    half_true, untrue = model.predict(facts, labels)["score"]
    assert half_true > untrue


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes() -> None:
    assert page_of()[0] == page_of()[0]


@pytest.mark.slow
def test_a_page_of_many_rules_stays_small_and_says_so() -> None:
    names = [f"r{k:03}" for k in range(700)]
    facts = hb.read_facts([("a", name, "b") for name in names])
    labels = hb.read_labels([("a", "t", "b", 1.0), ("b", "t", "a", 0.0)])
    text = "".join(f"{k + 1}: {name}(A, B) -> t(A, B)\n" for k, name in enumerate(names))
    html, page = page_of(hb.Model.parse(text), (facts, labels))
    assert len(html.encode()) <= LARGEST
    [shown] = re.findall(r"Of 700 rules the first ([0-9]+) are listed", page.words)
    assert html.count('<div class="rule">') == int(shown)
    assert f"Of 700 predicates the first {shown} are listed" in page.words
    assert page.words.index("r699(A, B) -> t(A, B)") < page.words.index("r690(A, B) -> t(A, B)")


def test_without_labels_the_page_says_what_was_learned_and_nothing_of_errors() -> None:
    facts, labels = world()
    known = [("p0", "trusts", "p2"), ("p1", "trusts", "p3")]
    model = hb.learn(facts, labels, language=hb.RuleLimits(max_length=2, min_coverage=1))
    page = Page.of(model.report([*facts, *known]))
    assert "No labelled pairs were given" in page.words
    assert "Known links 2" in page.words
    assert "holds for 2 known links" in page.words
    assert model.trace is not None
    assert model.trace.fit.choice is not None
    assert f"Log-loss, internal validation {model.trace.fit.choice.log_loss:.3f}" in page.words
    assert "The figures are those of the internal validation" in page.words
    for claim in ("AUC-ROC", "right on", "How good it is", "Where it fails", "labelled pair "):
        assert claim not in page.words
    bare = Page.of(hb.Model.parse("1: !trusts(A, B)").report([("a", "knows", "b")]))
    assert "Known links 0" in bare.words


def test_sampled_pairs_are_not_called_labelled() -> None:
    facts, labels = world()
    true = [row[:3] for row in labels if row[3]]
    language = hb.RuleLimits(max_length=2, min_coverage=1)
    model = hb.learn([*facts, *true], target=true[0][1], language=language)
    page = Page.of(model.report([*facts, *true]))
    assert model.trace is not None
    said = f"from {model.trace.targets:,} pairs, {model.trace.positives:,} of them true and the"
    assert f"{said} others sampled" in page.words
    assert "labelled pair" not in page.words.replace("No labelled pairs were given", "")


def test_report_explorer_and_notebook_share_their_colours() -> None:
    """One blue is for, one orange against, wherever they are shown."""
    explorer = (files("hornbeam.serve") / "static" / "explorer.css").read_text()
    palettes = [
        [re.findall(rf"--{side}: (#\w+)", sheet)[:2] for side in ("for", "against")]
        for sheet in (explorer, template_text("hornbeam.reporting", "report.css"))
    ]
    assert palettes[0] == palettes[1]
    assert [light for light, _ in palettes[0]] == [COLOURS["for"], COLOURS["against"]]


def is_text_and_nothing_else(html: str, page: Page) -> None:
    assert re.findall(r"<script.*?</script>", html, re.DOTALL) == [
        f"<script>{template_text('hornbeam.reporting', 'report.js')}</script>"
    ]
    for tag, attributes in page.tags:
        assert tag not in ("img", "iframe", "object", "embed", "form", "base", "b>")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("src", "action", "xlink:href", "data", "srcset"):
            assert name not in attributes
        if "href" in attributes:
            assert (attributes["href"] or "").startswith("#")
    assert "\u202e" not in html
    assert "\x1b" not in html


def test_names_from_the_data_are_text_and_nothing_else() -> None:
    model, data = nasty_world(NASTY)
    html, page = page_of(model, data)
    is_text_and_nothing_else(html, page)
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7 * 7 }} {% raw %}" in page.text
    assert "x" * 600 not in page.text


def test_constants_of_rules_are_text_and_nothing_else() -> None:
    _, (facts, labels) = nasty_world(NASTY)
    [target], step = labels.predicates, Step(NASTY[0] + "0")
    bodies = [Body((), target, Kind.ANCHORED, 0, name) for name in NASTY]
    bodies += [Body((step,), target, Kind.ANCHORED, 1, name) for name in NASTY]
    facts = with_atoms(facts, NASTY[1], *((name,) for name in NASTY))
    unary = Body((Step(NASTY[1], arity=1),), target, Kind.UNARY)
    rules = [Rule(1.0, Clause(body)) for body in (*bodies, unary)]
    html, page = page_of(hb.Model(tuple(rules)), (facts, labels))
    is_text_and_nothing_else(html, page)
    assert "If A is '<img src=x onerror=alert(1)>', then" in page.words
    assert "If <img src=x onerror=alert(1)> holds for A, then" in page.words
    assert "x" * 600 not in page.text


def test_the_policy_allows_one_style_sheet_one_script_and_nothing_else() -> None:
    html, page = page_of()
    [policy] = [
        meta["content"] or ""
        for meta in page.all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    [style] = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    [script] = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digests[0]}'",
        f"script-src 'sha256-{digests[1]}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert "url(" not in style
    assert "@import" not in style
    assert "http:" not in html
    assert "https:" not in html


def test_the_page_is_accessible() -> None:
    _, page = page_of()
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == len(page.all("main")) == 1
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(head.get("scope") in ("col", "row") for head in page.all("th"))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in page.all("a"):
        assert (link["href"] or "")[1:] in ids
    for _, attributes in page.tags:
        for name in (attributes.get("aria-labelledby") or "").split():
            assert name in ids
    for chart in page.all("svg"):
        assert chart.get("role") == "img" or chart.get("aria-hidden") == "true"
    headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(headings))


def _luminance(colour: str) -> float:
    if len(colour) == 4:
        colour = "#" + "".join(2 * digit for digit in colour[1:])
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_have_contrast_enough() -> None:
    """WCAG AA: 4.5 for text, in light, dark and print."""
    html, _ = page_of()
    palettes = [
        dict(re.findall(r"--([\w-]+): (#\w+)", block))
        for block in re.findall(r":root \{(.*?)\}", html, re.DOTALL)
    ]
    assert len(palettes) == 3
    for palette in palettes:
        pairs = [(ink, ground) for ink in ("ink", "soft", "accent", "for", "against", "neutral")
                 for ground in ("page", "card")]  # fmt: skip
        for ink, ground in [*pairs, ("warn-ink", "warn-page")]:
            light, dark = sorted((_luminance(palette[ink]), _luminance(palette[ground])))[::-1]
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_numbers_for_people() -> None:
    assert (percent(None), percent(0.5), percent(0.12345)) == ("undefined", "50 %", "12.3 %")
    assert (signed(0.25), signed(-0.25), signed(-1e-5)) == ("+0.250", "−0.250", "−1.0e−05")
    assert str(named("a" * 200)).count("a") > 200  # the whole name in its title
    assert "…" in named("a" * 200)
