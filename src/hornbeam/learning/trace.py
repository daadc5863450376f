"""The trace of a model: how it was learned, in the file model.trace.json that `learn` writes."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from hornbeam.base.choices import Sampling
from hornbeam.base.files import cannot_be_written, fingerprint
from hornbeam.errors import DataError, InputError, warn
from hornbeam.rules.candidates import RuleLimits

#: Keys of the traces of all versions.
KEYS = {"method", "targets", "positives", "found", "candidates", "seconds"}


@dataclass(frozen=True)
class CandidateOutcome:
    """A candidate body, its coverage in training, and whether it became a rule."""

    clause: str
    coverage: int
    coverage_true: int
    paths: int
    kept: bool = False
    outcome: str = ""


@dataclass(frozen=True)
class Validation:
    """Held-out log-loss along the path of strengths.

    `folds` has the loss of every fold at the strength of least mean loss.
    """

    strengths: tuple[float, ...]
    log_loss: tuple[float, ...]
    folds: tuple[float, ...] = ()

    @property
    def standard_error(self) -> float:
        """Standard error of the least loss, from its variation over the folds."""
        if len(self.folds) < 2:
            return 0.0
        mean = sum(self.folds) / len(self.folds)
        squares = sum((loss - mean) ** 2 for loss in self.folds)
        return math.sqrt(squares / (len(self.folds) - 1) / len(self.folds))


@dataclass(frozen=True)
class PathPoint:
    """One strength of the path: its number of rules, and the penalised loss."""

    strength: float
    rules: int
    loss: float


@dataclass(frozen=True)
class Choice:
    """How the strength was chosen by internal validation."""

    strength: float
    log_loss: float
    validation: Validation
    path: tuple[PathPoint, ...] = ()


@dataclass(frozen=True)
class Screening:
    """Screening of bodies whose counts do not fit in memory: learner, bodies, bodies kept."""

    by: str
    sequences: int
    kept: int


@dataclass(frozen=True)
class FitReport:
    """How a fit went; fields that do not apply to a learner are empty.

    `status`, `iterations` and `loss` are those of the last fit. `choice` reports how the strength
    was chosen. Where counts did not fit in memory, `screening` reports how bodies were screened,
    or `histogram_groups` is the number of groups of equal counts.
    """

    status: str = ""
    iterations: int | None = None
    loss: float | None = None
    choice: Choice | None = None
    screening: Screening | None = None
    histogram_groups: int | None = None


@dataclass(frozen=True)
class SecondStep:
    """The gain of a collective model's second step on held-out pairs, in log-loss per pair.

    `gain` is measured against the better of two models: the plain model, and the second step
    without beliefs. Its standard error is clustered by `groups` of pairs that share an entity.
    `gain_with_fewer` is measured against the plain model, with part of the true pairs not scored.
    """

    kept: bool
    gain: float
    standard_error: float
    groups: int
    gain_with_fewer: float = 0.0

    @property
    def sentence(self) -> str:
        """The result as text for users."""
        figures = f"{self.gain:.4f} (standard error {self.standard_error:.4f})"
        plain = "The model is the plain one, and scores every pair alone."
        lowers = "What is believed of other pairs lowers the log-loss of held-out pairs by"
        if self.kept:
            return f"{lowers} {figures}. Scores assume that pairs are chosen as in training."
        if self.gain > self.standard_error and self.gain_with_fewer < 0:
            return (
                f"{lowers} {figures}, but where fewer true pairs are scored the plain model is "
                f"better by {-self.gain_with_fewer:.4f}. {plain}"
            )
        return (
            f"What is believed of other pairs does not help: the gain on held-out pairs is "
            f"{figures}. {plain}"
        )


@dataclass(frozen=True)
class Trace:
    """How a model was learned: its settings, candidates and figures, which the report shows."""

    #: The learner's name and the ways of counting that it chose among.
    method: str
    counts: str
    #: Number of labelled pairs that the model was learned from, and of the true pairs among them.
    targets: int
    positives: int
    #: Number of bodies with a grounding for a labelled pair, before pruning; None where rare
    #: prefixes were pruned first.
    found: int | None
    candidates: tuple[CandidateOutcome, ...]  #: the bodies that the learner chose from
    seconds: Mapping[str, float]
    seed: int = 0
    language: RuleLimits = field(default_factory=RuleLimits)
    #: How negatives were sampled where there were no labels.
    sampled_negatives: Sampling | None = None
    fit: FitReport = field(default_factory=FitReport)
    model: str = ""  #: fingerprint of the model's text
    #: Gain of the second step, whether it was kept or not; None if no second step was tried.
    second_step: SecondStep | None = None
    own: tuple[str, ...] = ()  #: texts of the user's own rules, as in the model

    @property
    def kept(self) -> tuple[CandidateOutcome, ...]:
        """Candidates that became rules."""
        return tuple(candidate for candidate in self.candidates if candidate.kept)

    @property
    def dropped(self) -> tuple[CandidateOutcome, ...]:
        """Candidates that did not become rules."""
        return tuple(candidate for candidate in self.candidates if not candidate.kept)

    def as_dict(self) -> dict[str, Any]:
        """The trace as JSON values; `from_dict` is the inverse."""
        written = asdict(self)
        figures, choice = written.pop("fit"), self.fit.choice
        if not self.own:
            del written["own"]
        del figures["choice"]
        written |= {key: value for key, value in figures.items() if value not in (None, "")}
        if choice is not None:
            written |= {
                "strength": choice.strength,
                "validation_log_loss": choice.log_loss,
                "validation": asdict(choice.validation),
                "path": [asdict(point) for point in choice.path],
            }
        return written

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Trace:
        """The inverse of `as_dict`; a ValueError, KeyError or TypeError if this is no trace."""
        # fields of the fit and of its choice are written on the same level as those of the trace
        choice = dict(written) if "strength" in written else None
        if choice is not None:
            choice["log_loss"] = written["validation_log_loss"]
        return cast("Trace", _typed(cls, {**written, "fit": {**written, "choice": choice}}))

    @property
    def text(self) -> str:
        """The text of the file."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def trace_path(model: Path) -> Path:
    """Path of the trace of a model: model.psl -> model.trace.json."""
    return model.with_name(f"{model.stem}.trace.json")


def check_trace_path(path: Path) -> None:
    """Refuse a path where no trace can be written: a folder, or a file that is not a trace."""
    with cannot_be_written(path):
        if path.is_dir():
            raise InputError(f"{path}: is a folder; the model's trace would go there")
        if not path.exists():
            return
        text = path.read_bytes()
    try:
        written = json.loads(text)
    except (ValueError, RecursionError):
        written = None
    if not (isinstance(written, dict) and written.keys() >= KEYS):
        raise InputError(
            f"{path}: is not a trace that `learn` wrote, and the model's trace would go there; "
            "move it, or name another output"
        )


def trace_of(model: Path) -> Trace | None:
    """Read the trace of a model file; None if there is none, or if it is of another model text.

    Model and trace are two files, and either may change without the other: when it is edited, or
    when learning is interrupted between the two.
    """
    path = trace_path(model)
    if not os.path.isfile(path):
        return None
    try:
        trace = Trace.from_dict(json.loads(path.read_text(encoding="utf-8")))
        text = model.read_bytes().decode()
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        problem = "is not a trace that `learn` wrote; delete it, or learn the model again"
        raise DataError(str(path), problem) from None
    if trace.model not in ("", fingerprint(text)):
        warn(
            f"{path}: is the trace of another model than {model} is now (edited, or learned "
            "again); it is left out"
        )
        return None
    return trace


def _typed(kind: Any, written: Any) -> Any:  # noqa: ANN401
    """Convert a JSON value to `kind`, a type that occurs in a trace.

    Unknown keys are left out. A missing field without a default is a KeyError.
    """
    origin, of = get_origin(kind), get_args(kind)
    if hasattr(kind, "__dataclass_fields__"):
        hints, read = get_type_hints(kind), {}
        for entry in fields(kind):
            if entry.name in written or entry.default is entry.default_factory is MISSING:
                read[entry.name] = _typed(hints[entry.name], written[entry.name])
        return kind(**read)
    if type(None) in of:
        return None if written is None else _typed(of[0], written)
    if origin is tuple:
        return tuple(_typed(of[0], item) for item in written)
    if origin is Mapping:
        return {_typed(of[0], key): _typed(of[1], value) for key, value in written.items()}
    if origin is Literal and written not in of:
        raise ValueError(written)
    return written if origin is Literal else kind(written)
