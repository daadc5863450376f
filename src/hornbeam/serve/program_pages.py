"""The pages of a program's explorer: rules and their ground rules, atoms and what pulls them.

`/` has the rules with their dissatisfaction and the most violated constraints, `/rules` the ground
rules by cost, `/atoms` predictions beside the truth, and `/atom` the ground rules that pull one
target up and down. `/entity` is the page of a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

from hornbeam.errors import InputError, UnknownNameError
from hornbeam.programs.inferred_atoms import InferredAtom
from hornbeam.serve.pages import search_view
from hornbeam.serve.program_explorer import ProgramExplorer
from hornbeam.serve.site import AnySite
from hornbeam.serve.visits import View, ViewOf, Visit, asked_page, whole_number

#: Maximum numbers of items on a page, of constraints on the start page, of pulls in each direction,
#: and of observed atoms per predicate.
LISTED, CONSTRAINTS, PULLS, OBSERVED = 50, 10, 40, 20
#: Figures of a predicate on the start page.
EVALUATED = ("auc_roc", "auc_pr", "f1", "accuracy", "mae", "rmse", "categorical_accuracy")


@dataclass(frozen=True, eq=False)
class ProgramSite(AnySite):
    """The addresses of a program's explorer."""

    explorer: ProgramExplorer

    @cached_property
    def views(self) -> Mapping[str, tuple[ViewOf, Callable[[Visit], bool]]]:
        """The view at each path; all of them are made at once."""
        views: dict[str, ViewOf] = {
            "/": self.home,
            "/search": partial(search_view, self.explorer),
            "/rules": self.rules,
            "/atoms": self.predictions,
            "/entity": self.entity,
            "/atom": self.atom,
        }
        return {path: (view, lambda _: True) for path, view in views.items()}

    def home(self, visit: Visit) -> View:
        """The start page: figures, rules with their dissatisfaction, violated constraints."""
        explorer, inference = self.explorer, self.explorer.inference
        rules = explorer.ground_rules.figures
        constraints = explorer.ground_rules.violated_constraints(CONSTRAINTS)
        evaluations = {
            name: {key: getattr(one, key) for key in EVALUATED if getattr(one, key) is not None}
            for name, one in inference.evaluations.items()
        }
        values = {
            "state": inference.found,
            "rules": rules,
            "costliest": max((rule.cost or 0.0 for rule in rules), default=0.0),
            "constraints": constraints,
            "n_broken": sum(rule.violated for rule in rules if rule.weight is None),
            "evaluations": evaluations,
        }

        def plain() -> dict[str, Any]:
            keys = ("objective", "bound", "atoms", "ground_rules", "solver", "status")
            told = inference.as_dict()
            return {
                "program": explorer.name,
                **{key: told[key] for key in keys},
                "evaluations": evaluations,
                "rules": [asdict(rule) | {"number": rule.number + 1} for rule in rules],
                "violated_constraints": [rule.as_dict() for rule in constraints],
                "examples": explorer.examples,
            }

        return View("program.html", values, plain)

    def rules(self, visit: Visit) -> View:
        """The ground rules of one rule, or of all, by cost."""
        figures, text = self.explorer.ground_rules.figures, visit.query.get("rule", "")
        number = whole_number(text, 0) if text else None
        if number is not None and not 1 <= number <= len(figures):
            raise UnknownNameError(f"The program has no rule “{text[:100]}”.")
        rule = None if number is None else figures[number - 1]
        total = sum(one.ground_rules for one in ([rule] if rule else figures))
        place = asked_page(visit, total, LISTED)
        shown = self.explorer.ground_rules.ground_rules(
            None if rule is None else rule.number, (place["page"] - 1) * LISTED, LISTED
        )
        values = {**place, "rule": rule, "ground_rules": shown}

        def plain() -> dict[str, Any]:
            listed = [one.as_dict() for one in shown]
            return {**place, "rule": number, "ground_rules": listed}

        return View("ground_rules.html", values, plain)

    def predictions(self, visit: Visit) -> View:
        """Predictions beside the truth, by value or by error, of one predicate or of all."""
        predicate = visit.query.get("predicate", "")
        known = self.explorer.inference.open_predicates
        if predicate and predicate not in known:
            raise UnknownNameError(f"The program has no targets of “{predicate[:100]}”.")
        return self._atoms(visit, predicate, "", known if len(known) > 1 else ())

    def entity(self, visit: Visit) -> View:
        """A constant: its predictions beside the truth, and its observed atoms."""
        name = self.explorer.search.called(visit.query.get("name", ""))
        if self.explorer.inference.ground.data.names.index(name) < 0:
            raise UnknownNameError(f"No atom and no rule names “{name[:100]}”.")
        return self._atoms(visit, "", name, ())

    def _atoms(
        self, visit: Visit, predicate: str, constant: str, predicates: Sequence[str]
    ) -> View:
        order = "error" if visit.query.get("order") == "error" else "value"
        atoms = self.explorer.atoms
        _, total = atoms.targets(predicate, constant, False, 0, 0)
        asked = asked_page(visit, total, LISTED)
        place, start = {"order": order, **asked}, (asked["page"] - 1) * LISTED
        shown, _ = atoms.targets(predicate, constant, order == "error", start, LISTED)
        observed = atoms.observed(constant, OBSERVED) if constant else []
        values = {
            **place, "predicate": predicate, "constant": constant, "predicates": predicates,
            "atoms": shown, "observed": observed,
        }  # fmt: skip

        def plain() -> dict[str, Any]:
            told: dict[str, Any] = {**place, "predicate": predicate or None}
            if constant:
                listed = {name: [one.as_dict() for one in some] for name, some, _ in observed}
                told |= {"entity": constant, "observed": listed}
            return told | {"atoms": [atom.as_dict() for atom in shown]}

        return View("atoms.html", values, plain)

    def atom(self, visit: Visit) -> View:
        """One atom: its value, its truth, and the ground rules that pull it up and down."""
        atom = self._asked(visit)
        pulls = None
        if atom.variable is not None:
            pulls = self.explorer.ground_rules.pulls(atom.variable, PULLS)
        values = {"atom": atom, "pulls": pulls, "most": PULLS}

        def plain() -> dict[str, Any]:
            return atom.as_dict() | ({} if pulls is None else pulls.as_dict())

        return View("atom.html", values, plain)

    def _asked(self, visit: Visit) -> InferredAtom:
        predicate = visit.query.get("predicate", "")
        tables = self.explorer.inference.ground.data.predicates.get(predicate)
        if tables is None:
            raise UnknownNameError(f"The program has no predicate “{predicate[:100]}”.")
        keys = [f"a{k}" for k in range(1, tables.arity + 1)]
        atom = self.explorer.atoms.find(predicate, [visit.query.get(key, "") for key in keys])
        if atom is None or any(key not in visit.query for key in keys):
            raise InputError(f"An atom of {predicate} needs the arguments {', '.join(keys)}.")
        return atom
