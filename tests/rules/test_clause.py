from __future__ import annotations

import pytest

from hornbeam.language.syntax import Variable
from hornbeam.rules.body import Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.weighing import Counts, Threshold, Weighing

CITES, MENTIONS = Step("cites"), Step("mentions")


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((CITES,), "cites(A, B) -> t(A, B)"),
        ((CITES.reversed(),), "cites(B, A) -> t(A, B)"),
        ((CITES, MENTIONS), "cites(A, B) & mentions(B, C) -> t(A, C)"),
        (
            (CITES.reversed(), CITES, MENTIONS.reversed()),
            "cites(B, A) & cites(B, C) & mentions(D, C) -> t(A, D)",
        ),
        (
            (CITES, CITES.reversed(), CITES, MENTIONS),
            "cites(A, B) & cites(C, B) & cites(C, D) & mentions(D, E) -> t(A, E)",
        ),
    ],
)
def test_text(steps: tuple[Step, ...], text: str) -> None:
    path = Body(steps, "t")
    assert str(Clause(path)) == text
    assert str(Clause(path, negated=True)) == text.replace("-> t", "-> !t")


def test_distinct_variables_are_written_out() -> None:
    path = Body((CITES, MENTIONS.reversed()), "t")
    assert Clause(path, negated=True).text({}, distinct=True) == (
        "cites(A, B) & mentions(C, B) & (A != B) & (A != C) & (B != C) -> !t(A, C)"
    )
    longest = Clause(Body((CITES,) * 4, "t")).text({}, distinct=True)
    assert longest.count("!=") == 10


def test_identifiers_stand_for_names() -> None:
    names = {"cites": "cites_2", "/t": "t"}
    path = Body((CITES, MENTIONS), "/t")
    text = Clause(path).text(names)
    assert text == "cites_2(A, B) & mentions(B, C) -> t(A, C)"
    assert prior("/t").text(names) == "!t(A, B)"


def test_prior() -> None:
    assert str(prior("knows")) == "!knows(A, B)"
    assert str(prior("knows", negated=False)) == "knows(A, B)"
    assert prior("knows").text({}, distinct=True) == "!knows(A, B)"
    assert prior("knows").is_prior
    assert not Clause(Body((CITES,), "knows")).is_prior


def test_paths_are_values() -> None:
    assert Body((CITES,), "t") == Body((Step("cites", inverse=False),), "t")
    assert len({Body((CITES,), "t"), Body((CITES,), "t"), Body((CITES,), "s")}) == 2
    assert CITES.reversed().reversed() == CITES
    assert len(Body((CITES, MENTIONS), "t")) == 2


#: Bodies that are no lone path, and their texts.
CONDITIONS = {
    "cites(A, C)": Body((CITES,), "t", Kind.OPEN),
    "cites(C, B)": Body((CITES.reversed(),), "t", Kind.OPEN, 1),
    "paper(B)": Body((Step("paper", arity=1),), "t", Kind.UNARY, 1),
    "cites('x', A)": Body((CITES.reversed(),), "t", Kind.ANCHORED, 0, "x"),
    "(B == 'x')": Body((), "t", Kind.ANCHORED, 1, "x"),
    "by(A, C, D)": Body((Step.leaving("by", 0, 3),), "t", Kind.OPEN),
    "by(C, B, 'x')": Body((Step.between("by", 1, 2, 3),), "t", Kind.ANCHORED, 1, "x"),
}


@pytest.mark.parametrize(("text", "body"), CONDITIONS.items())
def test_texts_of_conditions(text: str, body: Body) -> None:
    assert str(Clause(body)) == f"{text} -> t(A, B)"
    assert str(Clause(Conjunction((Part(body, Threshold(2)),)))) == f"{text} [n >= 2] -> t(A, B)"


def test_mirrors_exchange_the_arguments() -> None:
    for body in CONDITIONS.values():
        assert body.mirror.argument == 1 - body.argument
        assert body.mirror.mirror == body
    both = Conjunction(
        (Part(Body((CITES, MENTIONS), "t"), Threshold(2)), Part(CONDITIONS["paper(B)"]))
    )
    assert str(Clause(both, weighing=Weighing(Counts.LOG)).mirror) == (
        "(mentions(C, A) & cites(B, C)) [n >= 2] & paper(A) -> t(A, B) [log]"
    )
    assert both.mirror.mirror == both


def test_distinct_variables_are_those_of_one_condition() -> None:
    path, one, other = (
        Body((CITES, MENTIONS), "t"),
        *(CONDITIONS[t] for t in ("cites(A, C)", "paper(B)")),
    )
    text = Clause(Conjunction((Part(path), Part(one), Part(other)))).text({}, distinct=True)
    # C of the path and D of the open condition may coincide
    assert text == (
        "cites(A, C) & mentions(C, B) & cites(A, D) & paper(B) "
        "& (A != B) & (A != C) & (A != D) & (B != C) & (B != D) -> t(A, B)"
    )
    assert "!=" not in Clause(CONDITIONS["(B == 'x')"]).text({}, distinct=True)


@pytest.mark.parametrize("arity", [3, 4])
def test_steps_of_wide_atoms(arity: int) -> None:
    for here in range(arity):
        for there in set(range(arity)) - {here}:
            step = Step.between("by", here, there, arity)
            assert step.places[0] < step.places[1]
            assert step.reversed() == Step.between("by", there, here, arity)
            assert Step.along(step.relation, step.inverse) == step
            arguments = step.atom(
                Variable("U"), Variable("V"), iter(map(Variable, "XYZ"))
            ).arguments
            assert (arguments[here].name, arguments[there].name) == ("U", "V")  # type: ignore[union-attr]
            assert len(set(arguments)) == arity
