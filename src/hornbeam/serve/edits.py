"""Edits: the changes of a visitor to the rules, which are weights, and rules switched off.

Edits are kept in the visitor's own cookie and nowhere else. So visitors do not see each other's
edits, the server stores nothing, and a restart loses nothing. The cookie names the model, so that
edits are never applied to another model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hornbeam.errors import InputError
from hornbeam.rules.rule_model import Rule

#: Browsers keep cookies of up to 4096 bytes, name and attributes included.
MAX_BYTES = 3500
#: Largest weight that can be typed.
MAX_WEIGHT = 1e6

_ITEM = re.compile(r"(?P<rule>[0-9]{1,6})(?:w(?P<weight>[0-9.e+-]{1,24}))?(?P<off>x)?")


@dataclass(frozen=True)
class Edits:
    """New weights by rule number, and the rules that are off.

    Examples
    --------
    >>> edits = Edits().with_weight(2, 0.5).switched(0, on=False)
    >>> edits.encoded("a1b2"), Edits.decoded("a1b2_0x_2w0.5", "a1b2", 3) == edits
    ('a1b2_0x_2w0.5', True)
    """

    weights: Mapping[int, float] = field(default_factory=dict)
    off: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.weights or self.off)

    @property
    def key(self) -> tuple[object, ...]:
        """Key of the edits in caches."""
        return tuple(sorted(self.weights.items())), tuple(sorted(self.off))

    @property
    def rules(self) -> frozenset[int]:
        """Numbers of the rules that are edited."""
        return self.off | frozenset(self.weights)

    def with_weight(self, rule: int, weight: float) -> Edits:
        """These edits, with another weight for a rule."""
        if not (math.isfinite(weight) and 0 <= weight <= MAX_WEIGHT):
            raise InputError(f"a weight is a number from 0 to {MAX_WEIGHT:,.0f}")
        return replace(self, weights={**self.weights, rule: weight})

    def switched(self, rule: int, on: bool) -> Edits:
        """These edits, with a rule switched on or off."""
        return replace(self, off=self.off - {rule} if on else self.off | {rule})

    def without(self, rule: int) -> Edits:
        """These edits without the edits of a rule."""
        weights = {i: weight for i, weight in self.weights.items() if i != rule}
        return Edits(weights, self.off - {rule})

    def scoring(self, rules: Sequence[Rule]) -> list[Rule]:
        """All edited rules; a rule that is off has weight 0, so that rule numbers do not change."""
        scoring = list(rules)
        for i in self.rules:
            weight = 0.0 if i in self.off else self.weights[i]
            scoring[i] = replace(rules[i], weight=weight)
        return scoring

    def kept(self, rules: Sequence[Rule]) -> list[Rule]:
        """The edited rules that are on."""
        return [rule for i, rule in enumerate(self.scoring(rules)) if i not in self.off]

    def encoded(self, model: str) -> str:
        """Text for a cookie; `model` is the model's fingerprint."""
        items = [
            f"{i}{f'w{self.weights[i]!r}' if i in self.weights else ''}"
            f"{'x' if i in self.off else ''}"
            for i in sorted(self.rules)
        ]
        text = "_".join([model, *items])
        if len(text) > MAX_BYTES:
            raise InputError(
                "no room for more edits: download the edited model and serve that file instead"
            )
        return text

    @classmethod
    def decoded(cls, text: str, model: str, n_rules: int) -> Edits:
        """The edits in a cookie; no edits if it is invalid or belongs to another model."""
        fingerprint, *items = text.split("_")
        if fingerprint != model or len(text) > MAX_BYTES:
            return cls()
        edits = cls()
        for item in items:
            match = _ITEM.fullmatch(item)
            if match is None or int(match["rule"]) >= n_rules:
                return cls()
            try:
                if match["weight"]:
                    edits = edits.with_weight(int(match["rule"]), float(match["weight"]))
            except (ValueError, InputError):
                return cls()
            if match["off"]:
                edits = edits.switched(int(match["rule"]), on=False)
        return edits


#: No edits: the model as it was loaded.
NO_EDITS = Edits()
