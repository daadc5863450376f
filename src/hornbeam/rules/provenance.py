"""Where a model comes from: version, method, settings, seed, data, and a held-out figure.

Every model file has it in its first line, as JSON under `"learned"`. It has no dates and no paths,
so that the same input and seed still give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np

from hornbeam.base.arrays import Floats

#: Key of the first line of a model file.
LEARNED = "learned"
#: Significant digits of learned weights.
DIGITS = 9


@dataclass(frozen=True)
class DataSummary:
    """Facts or labelled pairs: how many, how many of them true, and a fingerprint of their names.

    The fingerprint does not depend on the order of the rows; `true` is None for facts.
    """

    number: int
    fingerprint: str
    true: int | None = None


@dataclass(frozen=True)
class HeldOutFigure:
    """The figure of the internal validation, "log_loss" or "mrr", and a sentence about it."""

    name: str
    value: float
    meaning: str

    @property
    def sentence(self) -> str:
        """The figure with its meaning."""
        shown = {"log_loss": "Log-loss", "mrr": "MRR"}.get(self.name, self.name)
        return f"{shown} {self.value:.3f}: {self.meaning}"


@dataclass(frozen=True)
class Provenance:
    """Where a model comes from.

    Attributes
    ----------
    hornbeam
        The version that learned it.
    method
        The name of the learner, or "ranking" for a model of a whole graph.
    settings
        Settings that differ from their defaults, by the names of the parameters.
    seed
        The seed of everything random.
    facts
        The facts it was learned from; None if their engine does not show them.
    labels
        The labelled pairs; of a model of a whole graph the held-out facts, if any were given.
    validation
        The figure of the internal validation; None where the method makes none.
    rules
        Fingerprint of the rules as they were learned: other rules were edited since.
    """

    hornbeam: str
    method: str
    settings: Mapping[str, Any]
    seed: int
    facts: DataSummary | None = None
    labels: DataSummary | None = None
    validation: HeldOutFigure | None = None
    rules: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The provenance as JSON values, as the first line of a model has it."""
        parts = {"facts": self.facts, "labels": self.labels, "validation": self.validation}
        return {
            "hornbeam": self.hornbeam,
            "method": self.method,
            "settings": dict(self.settings),
            "seed": self.seed,
            **{
                name: {key: value for key, value in vars(part).items() if value is not None}
                for name, part in parts.items()
                if part is not None
            },
            "rules": self.rules,
        }

    @classmethod
    def from_dict(cls, written: Any) -> Provenance:  # noqa: ANN401
        """The inverse of `as_dict`; keys of later versions are left out.

        Raises
        ------
        ValueError
            Where an entry is missing or of another kind.
        """
        parts = {"facts": DataSummary, "labels": DataSummary, "validation": HeldOutFigure}
        try:
            known = _known(cls, written)
            for name, kind in parts.items():
                if known.get(name) is not None:
                    known[name] = kind(**_known(kind, known[name]))
            return cls(**known)
        except (TypeError, AttributeError):
            raise ValueError(
                f'"{LEARNED}" is not what `hornbeam learn` writes; leave it out'
            ) from None


#: Types of the entries of dataclasses above, by their annotations.
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, type(None)),
    "int": (int,),
    "int | None": (int, type(None)),
    "float": (int, float),
}


def _known(kind: type[Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a JSON object that a dataclass has; a TypeError for another type of value."""
    known = {entry.name: written[entry.name] for entry in fields(kind) if entry.name in written}
    for entry in fields(kind):
        expected = _TYPES.get(str(entry.type), (dict, type(None)))
        value = known.get(entry.name, entry.default)
        if value is MISSING or isinstance(value, bool) or not isinstance(value, expected):
            raise TypeError(entry.name)
    return known


def changed_settings(settings: Any, leave_out: Iterable[str] = ()) -> dict[str, Any]:  # noqa: ANN401
    """Fields of a dataclass that differ from their defaults, as JSON values.

    Examples
    --------
    >>> from hornbeam.learning.joint import Joint
    >>> changed_settings(Joint(folds=3, seed=7), leave_out=["seed"])
    {'folds': 3}
    """
    changed = dict[str, Any]()
    for entry in fields(settings) if hasattr(settings, "__dataclass_fields__") else ():
        default = entry.default if entry.default_factory is MISSING else entry.default_factory()
        value = getattr(settings, entry.name)
        if value != default and entry.name not in leave_out:
            changed[entry.name] = value
    return plain_values(changed)


def plain_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON gives them back: lists instead of tuples, objects by their fields."""
    plain: dict[str, Any] = json.loads(json.dumps(settings, default=lambda value: vars(value)))
    return plain


def significant(weights: Floats | Iterable[float]) -> Floats:
    """Weights rounded to `DIGITS` significant digits, so that files have no more and lose nothing.

    Examples
    --------
    >>> significant([1 / 3, 12345678.987654321]).tolist()
    [0.333333333, 12345679.0]
    """
    return np.array([float(f"{weight:.{DIGITS}g}") for weight in weights], dtype=np.float64)
