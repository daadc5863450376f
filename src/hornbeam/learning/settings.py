"""Settings of the learners: their ranges, checked when a learner is made, and their help.

A learner is a frozen dataclass. Fields made by `Setting.field` or `option` have a range, and
`check_settings` refuses values outside it. Fields with a help text are options of `hornbeam learn`.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from hornbeam.base.machine import MAX_NUMBER
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True)
class Setting:
    """Default, range and help of a learner's field."""

    #: Default; None for an integer whose default differs per learner.
    default: float | str | None
    #: One sentence for the help of `hornbeam learn`; empty if the field is not an option there.
    help: str = ""
    least: float | None = None  #: the smallest value; the value must be finite, too
    above: float | None = None  #: lower bound that the value must exceed; infinity is allowed
    choices: tuple[str, ...] = ()  #: the words that are allowed; empty if the value is no word

    @property
    def kind(self) -> type:
        """Type of the setting's values."""
        return int if self.default is None else type(self.default)

    def field(self, default: float | str | None = None) -> Any:  # noqa: ANN401
        """Make the field of a learner; a given `default` replaces the setting's."""
        return field(
            default=self.default if default is None else default, metadata={"setting": self}
        )

    def check(self, name: str, value: Any) -> None:  # noqa: ANN401
        """Refuse a value out of range; None is accepted."""
        if value is None:
            return
        if self.choices and value not in self.choices:
            expected = " or ".join(self.choices)
            raise InputError(f"unknown `{name}` {value!r}; expected {expected}")
        if self.least is not None and not value >= self.least:
            raise InputError(f"`{name}` is {value:g}; expected a number of at least {self.least:g}")
        if self.above is not None and not value > self.above:
            raise InputError(f"`{name}` is {value:g}; expected a number above {self.above:g}")
        if self.least is not None and value > MAX_NUMBER:
            raise InputError(f"`{name}` is {value:g}; expected at most {MAX_NUMBER:g}")


#: Options of the learners that come with Hornbeam, by the name of the field. They are here and
#: not with the learners so that the help of the command line need not import NumPy.
OPTIONS = {
    "max_rules": Setting(
        None,
        "Maximum number of rules in addition to the prior (greedy: 15, others: no limit).",
        least=0,
    ),
    "all_rules": Setting(
        False,
        "joint: the model of least validation loss, not the shortest within one standard error "
        "of it.",
    ),
    "tolerance": Setting(1e-3, "greedy: least gain of one more rule.", least=0.0),
    "solver": Setting(
        "newton",
        "ppll: exact Newton steps, or the paper's projected gradient.",
        choices=("newton", "gradient"),
    ),
    "iterations": Setting(None, "ppll gradient: 150; greedy: inner steps, 15.", least=1),
    "step_size": Setting(0.01, "ppll gradient: step size.", least=0.0),
    "weight_variance": Setting(100.0, "Variance of the Gaussian prior on weights.", above=0.0),
    "length_penalty": Setting(0.0, "Exponential prior on clause length.", least=0.0),
}


def option(name: str, default: float | str | None = None) -> Any:  # noqa: ANN401
    """Make the field of a learner for the option `name` of `OPTIONS`."""
    return OPTIONS[name].field(default)


def setting_of(entry: Field[Any]) -> Setting | None:
    """The setting of a learner's field; None if the field was made without a setting."""
    setting: Setting | None = entry.metadata.get("setting")
    return setting


def check_settings(learner: DataclassInstance) -> None:
    """Refuse a learner with a field out of its range."""
    for entry in fields(learner):
        setting = setting_of(entry)
        if setting is not None:
            setting.check(entry.name, getattr(learner, entry.name))
