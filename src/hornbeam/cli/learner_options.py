"""Options of learning: those of every learner, and those that are a learner's own settings."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, Self, get_args

from hornbeam.choices import CollectiveMethod, Sampling
from hornbeam.cli import options
from hornbeam.cli.option_groups import OneOf, Options
from hornbeam.errors import InputError
from hornbeam.learning.registry import learner_class, learner_names, make_learner, other_learners
from hornbeam.learning.settings import OPTIONS, Setting, setting_of
from hornbeam.rules.rule_model import Relaxation

if TYPE_CHECKING:
    from hornbeam.learning.learner import Learner

SAMPLINGS = OneOf(lambda: get_args(Sampling))


@dataclass(frozen=True)
class FitOptions(Options):
    """How rules are learned, whichever the learner is."""

    method: Annotated[
        str,
        options.learner_option(
            help="joint: all rules at once with L1 (best). ppll: each rule alone (fastest). "
            "greedy: one rule after the other (fewest). boost: trees of conditions, written as "
            "rules (best scores, many rules)."
        ),
        OneOf(learner_names),
    ] = "joint"
    counts: options.CountsOption = "auto"
    relaxation: Annotated[
        Relaxation | None,
        options.learner_option(
            help="Targets are 0 or 1 (boolean; joint's default), or lie between with hinges of "
            "power 1 (linear; ppll's and greedy's) or 2 (squared)."
        ),
    ] = None
    cross_evidence: options.CrossEvidence = False
    collective: options.Collective = False
    collective_method: options.CollectiveMethodOption = CollectiveMethod.TWO_STEP
    refit: Annotated[
        bool, options.learner_option("--refit", help="Fit the surviving rules once more, together.")
    ] = False
    negatives: Annotated[
        float,
        options.learner_option(
            min=0.01, metavar="X", help="Without labels: sampled negatives per positive."
        ),
    ] = 1.0
    negative_sampling: Annotated[
        Sampling,
        options.learner_option(
            help="Without labels: replace an end of a known link by an entity that the relation "
            "has been seen with there (typed), by how often (frequency), or by any entity "
            "(uniform, which teaches types)."
        ),
        SAMPLINGS,
    ] = "typed"


@dataclass(frozen=True)
class LearnerOptions(Options):
    """What was given of the learners' own settings, by the name of the field."""

    given: Mapping[str, Any]

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """List one option per setting of any learner."""
        return [
            Parameter(
                name, Parameter.KEYWORD_ONLY, default=one.default, annotation=_option(name, one)
            )
            for name, one in _settings().items()
        ]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Leave out defaults: every learner has its own."""
        settings = _settings()
        return cls({name: one for name, one in given.items() if one != settings[name].default})

    def learner(self, method: str, seed: int) -> Learner:
        """Make the learner; refuse settings that it does not have."""
        foreign = sorted(self.given.keys() - _own_settings(learner_class(method)).keys())
        if foreign:
            having = [
                f'`method="{one}"`'
                for one in learner_names()
                if foreign[0] in _own_settings(learner_class(one))
            ]
            raise InputError(f"`{foreign[0]}` is for {' or '.join(having)}")
        return make_learner(method, seed, **self.given)


def _settings() -> dict[str, Setting]:
    """Settings of all learners; those of other packages are imported to know theirs."""
    found: dict[str, Setting] = {}
    for point in other_learners():
        # a package that is broken has no options, and is no reason to refuse other learners
        with suppress(ImportError):
            found |= _own_settings(point.load())
    return found | OPTIONS


def _own_settings(learner: type[Any]) -> dict[str, Setting]:
    """Settings of one learner that are options."""
    found = ((one.name, setting_of(one)) for one in fields(learner))
    return {name: setting for name, setting in found if setting is not None and setting.help}


def _option(name: str, setting: Setting) -> Any:  # noqa: ANN401
    """Annotate a setting as Typer wants it."""
    if setting.kind is bool:
        flag = f"--{name.replace('_', '-')}"
        return Annotated[bool, options.learner_option(flag, help=setting.help)]
    if setting.choices:
        choice = options.learner_option(help=setting.help)
        return Annotated[str, choice, OneOf(lambda: setting.choices)]
    number = options.learner_option(
        min=setting.least, metavar="N" if setting.kind is int else "X", help=setting.help
    )
    return Annotated[setting.kind if setting.default is not None else setting.kind | None, number]
