"""Options for the language of rules."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.option_groups import Options
from hornbeam.errors import InputError
from hornbeam.rules.body import Kind

if TYPE_CHECKING:
    from hornbeam.rules.candidates import RuleLimits

rule_option = partial(typer.Option, rich_help_panel="Which rules")


@dataclass(frozen=True)
class LanguageOptions(Options):
    """The language of rules."""

    #: Larger than the limit for one target: whole graphs have their own limit.
    max_length: Annotated[
        int | None,
        rule_option(
            min=1,
            metavar="N",
            help="Longest body of a rule, in atoms (default: 3; with --all-relations by how dense "
            "the graph is).",
        ),
    ] = None
    min_coverage: Annotated[
        int, rule_option(min=1, metavar="N", help="Fewest targets a rule must have groundings for.")
    ] = 10
    top: Annotated[
        int | None, rule_option(min=1, metavar="N", help="Keep the N bodies of widest coverage.")
    ] = None
    bodies: Annotated[
        str | None,
        rule_option(
            metavar="KINDS",
            help="What bodies may be, with commas between: paths from A to B; open, p(A, X) with "
            "any X; unary, student(A); anchored, p(A, 'c') and A == 'c'. Default: "
            "paths,open,unary for joint and boost, paths for the others and for candidates.",
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        rule_option(
            metavar="PREDICATE",
            help="Never in a body: a relation that gives the target away, such as its inverse "
            "under another name. Give it again for more.",
        ),
    ] = None
    distinct_variables: Annotated[
        bool, rule_option("--distinct-variables", help="No two variables of a rule on one entity.")
    ] = False
    max_fanout: Annotated[
        int | None,
        rule_option(
            min=1,
            metavar="N",
            help="Approximation for hubs: do not walk a relation from a node that has more than N "
            "edges of it. Off by default.",
        ),
    ] = None

    def __post_init__(self) -> None:
        body_kinds(self.bodies)

    def language(self) -> RuleLimits:
        """The language as the library's object."""
        from hornbeam.rules.candidates import RuleLimits

        given = {
            "max_length": self.max_length or RuleLimits.max_length,
            "bodies": body_kinds(self.bodies),
            "exclude": tuple(self.exclude or ()),
        }
        return RuleLimits(**asdict(self) | given)


def body_kinds(text: str | None) -> tuple[Kind, ...] | None:
    """Kinds of bodies from comma-separated names; None leaves them to the learner.

    Examples
    --------
    >>> [kind.value for kind in body_kinds("open, paths") or ()]
    ['paths', 'open']
    """
    if text is None:
        return None
    named = [name.strip() for name in text.split(",")]
    known = [kind.value for kind in Kind]
    for name in named:
        if name not in known:
            raise InputError(f"unknown `bodies` {name!r}; expected some of: {', '.join(known)}")
    return tuple(kind for kind in Kind if kind.value in named)
