"""Rules in words: every kind of condition, threshold and way of counting, with PSL's variables."""

from __future__ import annotations

import re
from itertools import product

import pytest

from hornbeam.rules.body import Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_words import PhraseRole, rule_words, said
from hornbeam.rules.weighing import Counts, Threshold, Weighing
from tests.support.path_bodies import path


def on(
    argument: int, kind: Kind, step: Step | None = None, constant: str | None = None
) -> Body:  # fmt: skip
    return Body(() if step is None else (step,), "t", kind, argument, constant)


def open_(argument: int, name: str, inverse: bool = False) -> Body:
    return on(argument, Kind.OPEN, Step(name, inverse))


def part(body: Body, bound: float | None = None, share: bool = False) -> Part:
    return Part(body, None if bound is None else Threshold(bound, share))


STUDENT = on(0, Kind.UNARY, Step("student", arity=1))
ENZYME = on(1, Kind.ANCHORED, Step("enzyme"), "cyp3a4")
TA = Step("ta", places=(0, 2), arity=3)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (path("p", "-q"), "A p B and C q B"),
        (path("p"), "A p B"),
        (path("p", "-p"), "A and C share p"),
        (path("-p", "p"), "something p both A and C"),
        (path("p", "-p", "p"), "A p B and C p B and C p D"),
        (Body((TA, TA.reversed()), "t"), "A and B stand in ta at places 1 and 3 and C and B stand "
         "in ta at places 1 and 3"),
        (open_(0, "cites"), "A has cites"),
        (open_(1, "cites"), "B has cites"),
        (open_(0, "cites", True), "something cites A"),
        (open_(0, "t"), "A has t besides B"),
        (open_(1, "t"), "B has t"),
        (open_(1, "t", True), "something besides A t B"),
        (open_(0, "t", True), "something t A"),
        (on(0, Kind.OPEN, TA), "A stands in ta at place 1"),
        (on(1, Kind.OPEN, TA.reversed()), "B stands in ta at place 3"),
        (STUDENT, "student holds for A"),
        (on(1, Kind.UNARY, Step("adult", arity=1)), "adult holds for B"),
        (ENZYME, "B enzyme 'cyp3a4'"),
        (on(0, Kind.ANCHORED, Step("enzyme", True), "it's"), "'it's' enzyme A"),
        (on(0, Kind.ANCHORED, TA.reversed(), "c"), "'c' and A stand in ta at places 1 and 3"),
        (on(1, Kind.ANCHORED, None, "c"), "B is 'c'"),
        (Conjunction((part(STUDENT), part(ENZYME))), "student holds for A and B enzyme 'cyp3a4'"),
        (Conjunction((part(path("p", "-q")), part(path("q", "p")))),
         "A p C and B q C, and A q D and D p B"),
        (Conjunction((part(open_(0, "cites"), 3), part(STUDENT))),
         "A has 3 or more cites and student holds for A"),
        (Conjunction((part(open_(1, "t", True), 3),)), "3 or more things besides A t B"),
        (Conjunction((part(path("p", "-p"), 2),)), "A and C share 2 or more p"),
        (Conjunction((part(path("-p", "p"), 2), part(STUDENT))),
         "2 or more things p both A and B, and student holds for A"),
        (Conjunction((part(path("p", "q"), 5),)), "A p B and B q C in 5 or more ways"),
        (Conjunction((part(path("p", "q"), 0.012, True), part(STUDENT))),
         "A p C and C q B with a share above 0.012, and student holds for A"),
        (Conjunction((part(path("p", "-p"), 0.5, True),)),
         "A and C share p with a share above 0.5"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("negated", [False, True])
def test_every_condition_has_words(body: Body | Conjunction, words: str, negated: bool) -> None:
    clause = Clause(body, negated)
    found = rule_words(clause)
    head = clause.text({}).split(" -> ")[1].removeprefix("!")
    subject, object_ = re.fullmatch(r"t\((.+), (.+)\)", head).groups()  # type: ignore[union-attr]
    assert said(found) == f"If {words}, then {'not ' * negated}{subject} t {object_}."
    # pieces that are no words are called what the PSL text calls them
    text = clause.text({})
    for piece in found:
        if piece.role in (PhraseRole.VARIABLE, PhraseRole.PREDICATE):
            assert re.search(rf"\b{piece.text}\b", text)


def test_ways_of_counting_are_said() -> None:
    counted = {
        Counts.RAW: "one by one",
        Counts.LOG: "by log",
        Counts.EXISTS: "once",
        Counts.SHARE: "by share",
    }
    for counts, words in counted.items():
        clause = Clause(path("p"), weighing=Weighing(counts))
        assert said(rule_words(clause)) == f"If A p B, then A t B, counted {words}."


def test_priors_say_which_way_they_go() -> None:
    assert said(rule_words(prior("t"))) == "Without evidence a pair is false: not A t B."
    assert said(rule_words(prior("t", negated=False))) == "Without evidence a pair is true: A t B."


def test_names_from_the_data_are_pieces_of_their_own() -> None:
    hostile = "<b>{} and"
    for kind, inverse in product((Kind.OPEN, Kind.ANCHORED), (False, True)):
        constant = hostile if kind is Kind.ANCHORED else None
        body = Body((Step(hostile, inverse),), hostile, kind, 0, constant)
        for piece in rule_words(Clause(body)):
            if "<b>" in piece.text:
                assert piece.role in (PhraseRole.PREDICATE, PhraseRole.ENTITY)
                assert piece.text.strip("'") == hostile
