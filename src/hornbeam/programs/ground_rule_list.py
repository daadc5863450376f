"""The ground rules of an inference, as people look at them: by rule, by atom, by cost.

The pull of a ground rule on an atom of value y is the negative slope of its potential, which says
how hard it pushes y up (above 0) or down (below 0):

    -weight * coefficient                    of a violated linear ground rule,
    -2 * weight * distance * coefficient     of a squared one.

A linear ground rule that is just satisfied, at its edge, pushes only if y moves to its wrong side.
It holds y with up to its full pull. So does a constraint, without a limit. All others have room: a
small move of y costs them nothing. At the MAP state the pulls on an atom inside (0, 1) balance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection

from hornbeam.base.arrays import Bools, Floats, Ints, largest
from hornbeam.hlmrf.potentials import PotentialKind
from hornbeam.language.arithmetic_rules import PslRule, atoms_of, core_text, rule_variables
from hornbeam.language.syntax import Constant
from hornbeam.programs.grounding.ground import kind_and_signs
from hornbeam.programs.grounding.listed_rules import BROKEN, substituted
from hornbeam.programs.inferred_atoms import InferredAtom, InferredAtoms

#: The order of ground rules, as in files.
BY_COST = "ORDER BY broken DESC, coalesce(cost, 0.0) DESC, distance DESC, rule, arguments"


@dataclass(frozen=True)
class RuleFigures:
    """A rule with the figures of its ground rules.

    `violated` is the number of ground rules whose distance to satisfaction is above 0.001,
    `distance` the sum of all distances, and `cost` that of the weighted potentials, None in a hard
    rule.
    """

    number: int
    text: str
    weight: float | None
    ground_rules: int
    violated: int
    distance: float
    cost: float | None

    @property
    def mean_distance(self) -> float:
        """Mean distance of the ground rules to satisfaction."""
        return self.distance / self.ground_rules if self.ground_rules else 0.0


@dataclass(frozen=True)
class ShownGroundRule:
    """A ground rule: texts and atoms with their values, in the order of its text.

    `pull` is the pull on an atom, None where the ground rule is hard or shown without an atom.
    `holds` says that the ground rule is at its edge, or hard.
    """

    rule: int
    weight: float | None
    distance: float
    cost: float | None
    parts: tuple[str | InferredAtom, ...]
    pull: float | None = None
    holds: bool = False

    @property
    def text(self) -> str:
        """The ground rule as text."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        atoms = (part for part in self.parts if isinstance(part, InferredAtom))
        return {
            "rule": self.rule + 1,
            "ground_rule": self.text,
            "weight": self.weight,
            "distance": self.distance,
            "cost": self.cost,
            "atoms": [atom.as_dict() for atom in atoms],
        }


@dataclass(frozen=True)
class AtomPulls:
    """Ground rules that pull a target up, that pull it down, and equations that tie it to others.

    Each list begins with hard rules, then the strongest. `pull_up` and `pull_down` are the sums of
    all violated ones, and `hold_up` and `hold_down` the sums of what those at their edge can hold.
    `idle` ground rules have room.
    """

    up: Sequence[ShownGroundRule]
    down: Sequence[ShownGroundRule]
    tied: Sequence[ShownGroundRule]
    pull_up: float
    pull_down: float
    hold_up: float
    hold_down: float
    counts: tuple[int, int, int]
    idle: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the pull of a hard ground rule is null."""

        def listed(rules: Sequence[ShownGroundRule]) -> list[dict[str, Any]]:
            return [{**one.as_dict(), "pull": one.pull, "holds": one.holds} for one in rules]

        sums = ("pull_up", "pull_down", "hold_up", "hold_down", "idle")
        lists = {name: listed(getattr(self, name)) for name in ("up", "down", "tied")}
        return lists | {name: getattr(self, name) for name in sums}


@dataclass(frozen=True, eq=False)
class GroundRuleList:
    """The ground rules of an inference, in the table that `Inference.listed_rules` makes.

    Its methods may be called from several threads.
    """

    atoms: InferredAtoms
    connection: DuckDBPyConnection
    _lock: Lock = field(default_factory=Lock)

    @property
    def rules(self) -> Sequence[PslRule]:
        """The rules of the program."""
        return self.atoms.inference.ground.rules

    @cached_property
    def figures(self) -> list[RuleFigures]:
        """The rules of the program with their figures, in their order."""
        rows = self._ask(
            # rounded: the order of summation varies with the threads
            "SELECT rule, count(*), count(*) FILTER (distance > ?), round(fsum(distance), 9), "
            "round(fsum(cost), 9) FROM listed GROUP BY rule",
            [BROKEN],
        )
        found = {rule: figures for rule, *figures in rows}
        return [
            RuleFigures(number, core_text(rule), rule.weight, *found.get(number, [0, 0, 0.0, None]))
            for number, rule in enumerate(self.rules)
        ]

    def ground_rules(self, rule: int | None, start: int, most: int) -> list[ShownGroundRule]:
        """Some ground rules of one rule, or of all, by cost; broken constraints come first."""
        which = "true" if rule is None else f"rule = {rule:d}"
        return self._shown(f"{which} {BY_COST} LIMIT {most:d} OFFSET {start:d}")

    def violated_constraints(self, most: int) -> list[ShownGroundRule]:
        """The ground hard rules that are furthest from holding."""
        return self._shown(f"broken ORDER BY distance DESC, rule, arguments LIMIT {most:d}")

    def pulls(self, variable: int, most: int) -> AtomPulls:
        """The ground rules of a target by their pulls, at most so many of each list."""
        with self._lock:
            found = self.connection.execute(
                "SELECT number, rule, form, a FROM (SELECT number, rule, form, arguments, "
                "sum(a) AS a FROM (SELECT rowid AS number, rule, form, arguments, "
                "unnest(variables) AS v, unnest(coefficients) AS a FROM listed "
                "WHERE list_contains(variables, ?)) WHERE v = ? GROUP BY ALL HAVING sum(a) <> 0) "
                "ORDER BY rule, arguments, form",
                [variable, variable],
            ).fetchnumpy()
        kind = np.array([kind_and_signs(rule)[0] for rule in self.rules])[found["rule"]]
        weight = np.array([rule.weight or 0.0 for rule in self.rules])[found["rule"]]
        pull, holds = pulls_of(kind, weight, found["form"], found["a"])
        tied = kind == PotentialKind.EQUAL
        up, down = (pull > 0.0) & ~tied, (pull < 0.0) & ~tied

        def some(rows: Ints) -> list[ShownGroundRule]:
            chosen = rows[largest(np.abs(pull[rows]), most)]
            wanted = found["number"][chosen].tolist()
            shown = self._shown(f"rowid IN ({', '.join(map(str, wanted)) or 'NULL'})")
            by_number = dict(zip(sorted(wanted), shown, strict=True))
            return [
                replace(
                    by_number[number],
                    pull=float(pull[row]) if np.isfinite(pull[row]) else None,
                    holds=bool(holds[row]),
                )
                for number, row in zip(wanted, chosen.tolist(), strict=True)
            ]

        def total(rows: Bools) -> float:
            return float(np.abs(pull[rows & np.isfinite(pull)]).sum())

        return AtomPulls(
            up=some(np.flatnonzero(up)),
            down=some(np.flatnonzero(down)),
            tied=some(np.flatnonzero(tied)),
            pull_up=total(up & ~holds),
            pull_down=total(down & ~holds),
            hold_up=total(up & holds),
            hold_down=total(down & holds),
            counts=(int(up.sum()), int(down.sum()), int(tied.sum())),
            idle=int(np.count_nonzero(~(up | down | tied))),
        )

    def _shown(self, condition: str) -> list[ShownGroundRule]:
        """The ground rules that meet a condition, by default in the order of the table."""
        order = "" if "ORDER" in condition else " ORDER BY rowid"
        rows = self._ask(
            f"SELECT rule, distance, cost, arguments FROM listed WHERE {condition}{order}"  # noqa: S608
        )
        return [
            ShownGroundRule(
                rule, self.rules[rule].weight, distance, cost, tuple(self._parts(rule, arguments))
            )
            for rule, distance, cost, arguments in rows
        ]

    def _parts(self, number: int, arguments: Sequence[int]) -> Iterator[str | InferredAtom]:
        """Texts and atoms of a ground rule; an atom that is summed over stays text."""
        rule = self.rules[number]
        names = self.atoms.inference.ground.data.names.take(arguments)
        terms = dict(zip(rule_variables(rule), map(Constant, names), strict=True))
        ground = substituted(rule, terms)
        text, start = core_text(ground), 0
        for atom in atoms_of(ground):
            constants = [term.value for term in atom.arguments if isinstance(term, Constant)]
            found = self.atoms.find(atom.predicate, constants)
            if found is not None:  # else it has a summation variable
                place = text.index(str(atom), start)
                yield text[start:place]
                yield found
                start = place + len(str(atom))
        yield text[start:]

    def _ask(self, query: str, parameters: object = None) -> list[tuple[Any, ...]]:
        with self._lock:
            return self.connection.execute(query, parameters).fetchall()


def pulls_of(kind: Ints, weight: Floats, form: Floats, coefficient: Floats) -> tuple[Floats, Bools]:
    """Pull of every ground rule on an atom, and whether it only holds the atom at its edge.

    The pull of a constraint is infinite where it is at its edge or broken. A ground rule with room
    pulls with 0.
    """
    hard = kind >= PotentialKind.AT_MOST
    room = (form < -BROKEN) & (kind != PotentialKind.EQUAL)
    slope = np.where(hard, np.inf, weight)
    slope = np.where(kind == PotentialKind.SQUARED, 2.0 * weight * np.maximum(form, 0.0), slope)
    slope = np.where(room, 0.0, slope)
    edge = (np.abs(form) <= BROKEN) & (kind == PotentialKind.LINEAR) & (weight > 0.0)
    return np.where(slope > 0.0, -coefficient * slope, 0.0), (hard & ~room) | edge
