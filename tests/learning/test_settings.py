"""Settings of learners: ranges, and the options that the command line makes of them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pytest

from hornbeam.errors import InputError
from hornbeam.learning.registry import learner_class, learner_names
from hornbeam.learning.settings import OPTIONS, Setting, check_settings, option, setting_of


@dataclass(frozen=True)
class Toy:
    """A learner."""

    rate: float = Setting(0.5, least=0.0).field()
    size: int = Setting(3, least=1).field(7)
    spread: float = Setting(1.0, above=0.0).field()
    way: str = Setting("up", choices=("up", "down")).field()
    tolerance: float = option("tolerance", 0.25)
    anything: int = -1

    def __post_init__(self) -> None:
        check_settings(self)


def test_defaults_are_the_settings_or_the_learners_own() -> None:
    assert Toy() == Toy(0.5, 7, 1.0, "up", 0.25, -1)
    assert Toy(rate=0.0, size=1, spread=float("inf"), way="down").rate == 0.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate": -0.1}, "`rate` is -0.1; expected a number of at least 0"),
        ({"rate": float("nan")}, "`rate` is nan; expected a number of at least 0"),
        ({"rate": float("inf")}, "`rate` is inf; expected"),
        ({"size": 0}, "`size` is 0; expected a number of at least 1"),
        ({"spread": 0.0}, "`spread` is 0; expected a number above 0"),
        ({"spread": float("nan")}, "`spread` is nan; expected"),
        ({"way": "left"}, "unknown `way` 'left'; expected up or down"),
        ({"tolerance": -1.0}, "`tolerance` is -1; expected"),
    ],
)
def test_values_out_of_range_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        Toy(**wrong)  # type: ignore[arg-type]


def test_the_options_are_those_of_the_learners() -> None:
    """Each is a field of some learner, and each field with a help is one of them."""
    found = {}
    for name in learner_names():
        for one in fields(learner_class(name)):
            setting = setting_of(one)
            if setting is not None and setting.help:
                found[one.name] = setting
                assert setting.default in (None, one.default)
    assert found == OPTIONS
