"""The protocol of explainers, and the one place that chooses one for a model."""

from __future__ import annotations

from typing import Protocol

from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.explaining.collective_explainer import CollectiveExplainer, TwoStepExplainer
from hornbeam.explaining.explanation import PATHS, Explanation
from hornbeam.explaining.independent_explainer import IndependentExplainer
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.model_checks import warn_of_missing_names


class Explainer(Protocol):
    """A model over facts, ready to explain pairs; what all pairs share is prepared once."""

    @property
    def facts(self) -> Facts:
        """The evidence."""

    def explain(
        self,
        subject: str,
        target: str,
        object_: str,
        *,
        paths: int = PATHS,
        flip: bool = True,
        progress: Progress = SILENT,
    ) -> Explanation:
        """Explain the score of target(subject, object).

        At most `paths` groundings are listed per condition, in the order of their entities' names.
        With `flip`, and if pairs are independent, the smallest set of facts whose removal flips the
        decision is searched for.
        """

    def with_facts(self, new: Input) -> Explainer:
        """The same explainer over the facts and new ones, as if they had been read together."""


#: Explains pairs by rules with weights, and pairs that are scored together.
RuleExplainer = IndependentExplainer | CollectiveExplainer
JointExplainer = TwoStepExplainer | CollectiveExplainer


def open_explainer(
    model: RuleModel, engine: MemoryEngine, pairs: Targets | None = None
) -> RuleExplainer:
    """The explainer of a model; a collective one needs all pairs that are scored together.

    The engine is one in memory, whose graph is walked for groundings.
    """
    warn_of_missing_names(model, engine)
    if not model.semantics.collective:
        return IndependentExplainer.of(model, engine)
    return open_joint_explainer(model, engine, pairs)


def open_joint_explainer(
    model: RuleModel, engine: MemoryEngine, pairs: Targets | None
) -> JointExplainer:
    """The explainer of a collective model."""
    if pairs is None:
        raise InputError(
            "the model is collective: its scores depend on all pairs that are scored together; "
            "name them with `pairs`"
        )
    if model.semantics.two_steps:
        return TwoStepExplainer.of_pairs(model, engine, pairs)
    return CollectiveExplainer.of(model, engine, pairs)
