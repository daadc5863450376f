"""Options of learning: options of every learner, and settings of single learners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, get_args

from hornbeam.base.choices import CollectiveMethod, Relaxation, Sampling
from hornbeam.base.terminal_progress import print_message
from hornbeam.cli import options
from hornbeam.cli.option_groups import Options, option, parameter
from hornbeam.errors import InputError
from hornbeam.learning.registry import (
    BUNDLED,
    learner_class,
    learner_names,
    load_other,
    make_learner,
    other_learners,
)
from hornbeam.learning.settings import OPTIONS, Setting, setting_of
from hornbeam.rules.weighing import Counts

if TYPE_CHECKING:
    from hornbeam.learning.learner import Learner


@dataclass(frozen=True)
class LearnerOptions(Options):
    """Settings of learners that were given on the command line, by field name."""

    given: Mapping[str, Any]

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """List one option per setting of any learner; its default None means "not given"."""
        return [_option(name, having) for name, having in _settings().items()]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Keep only the settings that were given."""
        return cls({name: value for name, value in given.items() if value is not None})

    def changed(self) -> Iterator[str]:
        """Yield the names of the settings that were given."""
        yield from self.given

    def learner(self, method: str, seed: int) -> Learner:
        """The learner with the given settings; refuses settings that the learner does not have."""
        others = _settings_of_others()
        own = others[method] if method in others else _own_settings(learner_class(method))
        foreign = sorted(self.given.keys() - own.keys())
        if foreign:
            bundled = {point.name: _own_settings(learner_class(point.name)) for point in BUNDLED}
            having = [
                f'`method="{name}"`'
                for name, settings in (bundled | others).items()
                if foreign[0] in settings
            ]
            raise InputError(f"`{foreign[0]}` is for {' or '.join(having)}")
        return make_learner(method, seed, **self.given)


@dataclass(frozen=True)
class EvidenceOptions(Options):
    """Which facts are evidence for a pair, and how groundings count."""

    counts: str = options.learner_option(
        "n groundings of a rule weigh n (raw, as in PSL), log2(1+n) (log), 1 (exists) or "
        "their share, in which paths through hubs count less (share, paths only). auto: log, "
        "exists and share side by side for joint, raw and share for boost, raw for the others.",
        words=lambda: ["auto", *Counts],
        default="auto",
    )
    cross_evidence: bool = options.learner_option(
        "Let the true labelled pairs be evidence for each other, hidden by folds so that "
        "no pair sees its own label. Without labels this is always done.",
        "--cross-evidence",
        default=False,
    )
    collective: bool = option(
        "Let what is believed of one pair count for others: all pairs are scored together.",
        "--collective",
        default=False,
    )
    collective_method: CollectiveMethod = options.learner_option(
        "With --collective: a plain model, then rules about what it believes of other "
        "pairs, kept where they pay (two-step); recursive rules and their joint MAP state, as "
        "PSL means it (map); the same rules, each moving its head alone (map-heads).",
        default=CollectiveMethod.TWO_STEP,
    )

    @property
    def collective_asked(self) -> bool | str:
        """--collective and its method as one value; refuses a method without --collective."""
        if not self.collective and self.collective_method is not CollectiveMethod.TWO_STEP:
            raise InputError("--collective-method is for collective models: give --collective too")
        return self.collective_method.value if self.collective else False


@dataclass(frozen=True, kw_only=True)
class FitOptions(Options):
    """How rules are learned, and by which learner."""

    method: str = options.learner_option(
        "joint: all rules at once with L1 (best). ppll: each rule alone (fastest). "
        "greedy: one rule after the other (fewest). boost: trees of conditions, written as "
        "rules (best scores, many rules).",
        words=learner_names,
        default="joint",
    )
    evidence: EvidenceOptions
    relaxation: Relaxation | None = options.learner_option(
        "Targets are 0 or 1 (boolean; default of joint and boost), or lie between with "
        "hinges of power 1 (linear; default of ppll and greedy) or 2 (squared)."
    )
    refit: bool = options.learner_option(
        "Fit the surviving rules once more, together.", "--refit", default=False
    )
    negatives: float = options.learner_option(
        "Without labels: sampled negatives per positive.", min=0.01, metavar="X", default=1.0
    )
    negative_sampling: Sampling = options.learner_option(
        "Without labels: replace an end of a known link by an entity that the relation "
        "has been seen with there (typed), by how often (frequency), or by any entity "
        "(uniform, which teaches types).",
        words=lambda: get_args(Sampling),
        default="typed",
    )
    start: Path | None = options.learner_option(
        "An earlier model to begin with, such as yesterday's: joint looks for its strength near "
        "that model's. The same result as without it, sooner.",
        metavar="MODEL",
    )
    settings: LearnerOptions

    def learner(self, seed: int) -> Learner:
        """The requested learner."""
        return self.settings.learner(self.method, seed)


@dataclass(frozen=True)
class OwnRuleOptions(Options):
    """A user's own rules, which stay in the model."""

    rules: str | None = options.own_rule_option(
        "Your own rules, a file of PSL rules with or without weights, or the PSL program of the "
        "facts and labels. They stay in the model and are fitted with the rest, unpenalised; "
        "learning adds what they leave unexplained, never what they say already. With "
        "--all-relations: path rules of AnyBURL or AMIE to take instead of looking for some.",
        metavar="FILE",
    )
    keep: bool = options.own_rule_option(
        "Keep the weights that your rules have.", "--keep", default=False
    )
    guard: str | None = options.own_rule_option(
        "Every learned rule has this predicate of pairs as a further condition, such as Cand in "
        "Cand(A, C) & p(A, B) & q(B, C) -> t(A, C).",
        metavar="PREDICATE",
    )

    @property
    def files(self) -> list[str]:
        """The file of own rules, if there is one."""
        return [] if self.rules is None else [self.rules]


def _settings() -> dict[str, dict[str, Setting]]:
    """Settings that are options, by setting and by learner; "" is for all bundled learners."""
    by_name = {name: {"": setting} for name, setting in OPTIONS.items()}
    for learner, settings in _settings_of_others().items():
        for name, setting in settings.items():
            by_name.setdefault(name, {})[learner] = setting
    return by_name


def _settings_of_others() -> dict[str, dict[str, Setting]]:
    """Settings of the learners of other packages; this imports the packages.

    A broken package contributes no options and does not affect other learners. Learners that share
    a setting must agree on its type; else a warning says which setting is not an option.
    """
    kinds = {name: setting.kind for name, setting in OPTIONS.items()}
    by_learner: dict[str, dict[str, Setting]] = {}
    for point in other_learners():
        try:
            own = _own_settings(load_other(point))
        except InputError as error:
            _warn_once(str(error))
            continue
        by_learner[point.name] = {}
        for name, setting in own.items():
            if kinds.setdefault(name, setting.kind) is setting.kind:
                by_learner[point.name][name] = setting
            else:
                _warn_once(
                    f"the setting {name!r} of the learner {point.name!r} is not an option: another "
                    f"learner's is of type {kinds[name].__name__}, not {setting.kind.__name__}"
                )
    return by_learner


@cache
def _warn_once(text: str) -> None:
    """Warn once per process, however often options are listed."""
    print_message(f"hornbeam: warning: {text}")


def _own_settings(learner: type[Any]) -> dict[str, Setting]:
    """Settings of one learner that are options, with the learner's own defaults."""
    settings = ((field, setting_of(field)) for field in fields(learner))
    return {
        field.name: replace(setting, default=cast("float | str | None", field.default))
        for field, setting in settings
        if setting is not None and setting.help
    }


def _option(name: str, having: Mapping[str, Setting]) -> Parameter:
    """A setting as an option; learners check the ranges of values themselves."""
    settings = list(having.values())
    kind = settings[0].kind
    words = list(dict.fromkeys(word for setting in settings for word in setting.choices))
    least = {setting.least for setting in settings}
    is_number = kind is not bool and not words
    declared = options.learner_option(
        " ".join(dict.fromkeys(setting.help for setting in settings)),
        *([f"--{name.replace('_', '-')}"] if kind is bool else []),
        show_default=_shown_defaults(having),
        words=(lambda: words) if words else None,
        min=least.pop() if is_number and len(least) == 1 else None,
        metavar=("N" if kind is int else "X") if is_number else None,
    )
    return parameter(name, kind | None, declared)


def _shown_defaults(having: Mapping[str, Setting]) -> str | bool:
    """The default of a setting as the help shows it; per learner if the defaults differ."""
    defaults = {
        learner: setting.default
        for learner, setting in having.items()
        if setting.default is not None and setting.default is not False
    }
    if len(set(defaults.values())) <= 1:
        return str(next(iter(defaults.values()), "")) or False
    return "; ".join(
        f"{name}: {default}" if name else str(default) for name, default in defaults.items()
    )
