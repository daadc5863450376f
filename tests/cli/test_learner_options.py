"""Options of `hornbeam learn` that are settings of learners."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from hornbeam.cli.learner_options import EvidenceOptions, FitOptions, LearnerOptions
from hornbeam.cli.option_groups import Options
from hornbeam.cli.options import LanguageOptions
from hornbeam.errors import InputError
from hornbeam.learning.boost import Boost
from hornbeam.learning.greedy import Greedy
from hornbeam.learning.joint import Joint
from hornbeam.learning.ppll import Ppll
from hornbeam.learning.registry import BUNDLED
from hornbeam.learning.settings import OPTIONS
from tests.support.commands import EVIDENCE, TRAIN, hornbeam_
from tests.support.other_package import register_learner

#: No option is given.
DEFAULTS = dict.fromkeys(OPTIONS)

MINE = """
from dataclasses import dataclass
from hornbeam.learning.settings import Setting, check_settings, option

@dataclass(frozen=True)
class Mine:
    boldness: float = Setting(0.5, "mine: how bold it is.", least=0.0).field()
    weight_variance: float = option("weight_variance", 7.0)
    hidden: int = 3

    def __post_init__(self):
        check_settings(self)
"""


BOLD_AND_SHY = """
from dataclasses import dataclass
from hornbeam.learning.settings import Setting, check_settings

@dataclass(frozen=True)
class Bold:
    tolerance: float = Setting(0.5, "bold: how near.", least=0.0).field()
    nerve: int = Setting(2, "Nerve.", least=0).field()

    def __post_init__(self):
        check_settings(self)

@dataclass(frozen=True)
class Shy:
    tolerance: float = Setting(-1.0, "shy: how far.", least=-1.0).field()
    nerve: int = Setting(1, "Nerve.", least=0).field()

    def __post_init__(self):
        check_settings(self)
"""


def help_of(group: type[Options], name: str) -> str:
    """The help of an option of a group."""
    [option] = [one for one in group.parameters() if one.name == name]
    return str(get_args(option.annotation)[1].help)


def test_helps_state_the_learners_own_defaults() -> None:
    """They are written by hand: learners import NumPy, which help must not."""
    assert {point.name for point in BUNDLED} == {"joint", "boost", "ppll", "greedy"}
    assert Joint.bodies == Boost.bodies
    assert Ppll.bodies == Greedy.bodies
    paths, all_three = ",".join(Ppll.bodies), ",".join(Joint.bodies)
    stated = (
        f"Default: {all_three} for joint and boost, with numbers where the facts have some; "
        f"{paths} for the others and for candidates."
    )
    assert help_of(LanguageOptions, "bodies").endswith(stated)
    assert Ppll.counts == Greedy.counts
    *first, last = Joint.counts
    stated = (
        f"auto: {', '.join(first)} and {last} side by side for joint, "
        f"{' and '.join(Boost.counts)} for boost, {' and '.join(Ppll.counts)} for the others."
    )
    assert help_of(EvidenceOptions, "counts").endswith(stated)
    assert Joint.relaxation is Boost.relaxation
    assert Ppll.relaxation is Greedy.relaxation
    relaxations = help_of(FitOptions, "relaxation")
    assert f"({Joint.relaxation}; default of joint and boost)" in relaxations
    assert f"({Ppll.relaxation}; default of ppll and greedy)" in relaxations


def test_a_learner_gets_what_was_given_and_keeps_its_defaults() -> None:
    given = DEFAULTS | {"weight_variance": 3.0}
    assert LearnerOptions.of(given).learner("joint", 4) == Joint(weight_variance=3.0, seed=4)
    given = DEFAULTS | {"iterations": 9, "solver": "gradient"}
    assert LearnerOptions.of(given).learner("ppll", 4) == Ppll("gradient", iterations=9)
    given = DEFAULTS | {"iterations": 9, "tolerance": 0.5}
    assert LearnerOptions.of(given).learner("greedy", 4) == Greedy(tolerance=0.5, iterations=9)
    assert LearnerOptions.of(DEFAULTS).learner("ppll", 0) == Ppll()


def test_a_setting_of_another_learner_is_refused() -> None:
    with pytest.raises(InputError, match=r'^`all_rules` is for `method="joint"`$'):
        LearnerOptions.of(DEFAULTS | {"all_rules": True}).learner("greedy", 0)
    with pytest.raises(InputError, match=r'`method="ppll"` or `method="greedy"`$'):
        LearnerOptions.of(DEFAULTS | {"iterations": 2}).learner("joint", 0)
    # a field of ppll that is no option: the one of the command line is greedy's
    with pytest.raises(InputError, match=r'^`tolerance` is for `method="greedy"`$'):
        LearnerOptions.of(DEFAULTS | {"tolerance": 0.5}).learner("ppll", 0)


def test_the_command_line_refuses_it_in_its_own_words(tmp_path: Path) -> None:
    words = ("learn", *EVIDENCE, *TRAIN, "-o", tmp_path / "model.psl")
    ended = hornbeam_(*words, "--tolerance", 2)
    assert (ended.code, ended.told) == (2, ["hornbeam: --tolerance is for --method greedy"])
    ended = hornbeam_(*words, "--method", "nope")
    assert ended.code == 2
    assert "'nope'" in ended.stderr


def test_a_learner_of_another_package_has_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_learner(tmp_path, monkeypatch, MINE, {"mine": "Mine"})
    names = [one.name for one in LearnerOptions.parameters()]
    assert set(names) == {"boldness", *OPTIONS}
    learner = LearnerOptions.of(DEFAULTS | {"boldness": 0.25}).learner("mine", 4)
    assert (learner.boldness, learner.weight_variance) == (0.25, 7.0)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r'^`boldness` is for `method="mine"`$'):
        LearnerOptions.of(DEFAULTS | {"boldness": 0.25}).learner("joint", 0)
    shown = " ".join(hornbeam_("learn", "--help").stdout.split())
    assert re.search(r"\|mine[>\]]", shown), "it is one of the methods"
    assert "mine: how bold it is." in shown


def test_learners_share_the_name_of_an_option_and_keep_their_own_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learners = {"bold": "Bold", "shy": "Shy"}
    register_learner(tmp_path, monkeypatch, BOLD_AND_SHY, learners)
    # greedy's default is no default of theirs, so whoever gives it means it
    given = DEFAULTS | {"tolerance": 0.001, "nerve": None}
    made: Any = LearnerOptions.of(given).learner("bold", 0)
    assert (made.tolerance, made.nerve) == (0.001, 2)
    made = LearnerOptions.of(DEFAULTS | {"nerve": 2}).learner("shy", 0)
    assert (made.tolerance, made.nerve) == (-1.0, 2)
    made = LearnerOptions.of(DEFAULTS | {"tolerance": -0.5}).learner("shy", 0)
    assert made.tolerance == -0.5, "the range of another learner is not its range"
    with pytest.raises(InputError, match=r'`method="greedy"` or `method="bold"'):
        LearnerOptions.of(DEFAULTS | {"tolerance": 0.001}).learner("joint", 0)
    shown = " ".join(hornbeam_("learn", "--help").stdout.replace("\u2502", "").split())
    assert "greedy: least gain of one more rule. bold: how near. shy: how far." in shown
    assert "[default: (0.001; bold: 0.5; shy: -1.0)]" in shown
    assert "[default: (bold: 2; shy: 1)]" in shown


@pytest.mark.slow
def test_an_option_is_of_one_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = MINE.replace("boldness: float = Setting(0.5", "solver: float = Setting(0.5")
    register_learner(tmp_path, monkeypatch, code, {"other-kind": "Mine"})
    assert {one.name for one in LearnerOptions.parameters()} == set(OPTIONS)
    told = capsys.readouterr().err
    assert "the setting 'solver' of the learner 'other-kind' is not an option" in told
    with pytest.raises(InputError, match=r'^`solver` is for `method="ppll"`$'):
        LearnerOptions.of(DEFAULTS | {"solver": "newton"}).learner("other-kind", 0)


@pytest.mark.parametrize(
    "code",
    ["import no_such_module\n", "Other = 1\n", "class Mine:\n", "class Mine: pass\n"],
    ids=["ImportError", "AttributeError", "SyntaxError", "no dataclass"],
)
def test_a_broken_package_is_no_reason_to_refuse_other_learners(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"broken-{len(code)}"
    register_learner(tmp_path, monkeypatch, code, {name: "Mine"})
    words = ("learn", *EVIDENCE, *TRAIN, "--method", "ppll", "-o", tmp_path / "model.psl")
    ended = hornbeam_(*words, "--quiet")
    assert ended.code == 0
    warned = f"hornbeam: warning: the learner '{name}' of the package other_learners_package "
    assert [line.startswith(warned) for line in ended.told] == [True], "one warning"
    assert {one.name for one in LearnerOptions.parameters()} == set(OPTIONS)
    assert hornbeam_("learn", "--help").code == 0
    ended = hornbeam_(*words, "--method", name)
    assert ended.code == 2
    assert f"the learner '{name}' of the package other_learners_package" in ended.stderr
