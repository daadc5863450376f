"""Rules as a classifier of scikit-learn: `hornbeam.sklearn.RuleClassifier`.

scikit-learn is optional: `pip install 'hornbeam[sklearn]'`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.base.arrays import Array, Floats
from hornbeam.counting.opening import facts_of
from hornbeam.errors import InputError, MissingExtraError
from hornbeam.facts.reading.readers import Input, read_labels, read_pairs
from hornbeam.flow import learn
from hornbeam.learning.learner import Learner
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.own_rules import RuleInput
from hornbeam.rules.weighing import Counts

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import Tags
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError("hornbeam.sklearn", "sklearn") from None


class RuleClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learns which pairs of entities are linked, or what holds for entities, from facts about them.

    X has two columns, subject and object, as a frame, an array or tuples; or one column of
    entities, for a target on one entity. y has two classes of any
    type; the greater class is "true". The facts are a parameter, since they are the same for all
    pairs. A fact that states a pair is never evidence for that pair.

    Parameters
    ----------
    facts
        The evidence: the result of `hornbeam.read_facts` (fastest), or any form that it takes.
    target
        The predicate of the pairs or entities.
    method, language, counts, rules, keep
        As for `hornbeam.learn`.
    random_state
        The seed of everything random.
    n_jobs
        Number of threads; one per core by default.

    Attributes
    ----------
    model_
        The learned `hornbeam.Model`, which proposes, explains and reports.
    rules_
        The texts of its rules, priors left out, the heaviest first.
    feature_importances_
        The share of the weights that each rule of `rules_` has; they add up to 1. Weights say how
        much one grounding counts; `model_.to_table(facts, labels, worth=True)` measures what every
        rule is worth.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> facts = [(f"drug{i}", "binds", f"gene{i % 3}") for i in range(40)]
    >>> facts += [("gene0", "causes", "gout"), ("gene1", "causes", "flu")]
    >>> X = [(f"drug{i}", "gout") for i in range(40)]
    >>> y = [i % 3 == 0 for i in range(40)]
    >>> classifier = RuleClassifier(facts, target="treats").fit(X, y)
    >>> classifier.score(X, y)
    1.0
    """

    def __init__(
        self,
        facts: Input | None = None,
        target: str = "target",
        *,
        method: str | Learner = "joint",
        language: RuleLimits | None = None,
        counts: Counts | str = "auto",
        rules: RuleInput | None = None,
        keep: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.facts = facts
        self.target = target
        self.method = method
        self.language = language
        self.counts = counts
        self.rules = rules
        self.keep = keep
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> RuleClassifier:  # noqa: N803
        """Learn from pairs and their classes."""
        pairs, labels = validate_data(self, X, y, dtype=None)
        check_classification_targets(labels)
        self.classes_, truth = np.unique(labels, return_inverse=True)
        if len(self.classes_) > 2:
            kind = type_of_target(labels)
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class, {self.classes_.tolist()[0]!r}; expected two classes"
            )
        rows = [(*pair, int(label)) for pair, label in zip(_named(pairs), truth, strict=True)]
        if self.facts is None:
            raise InputError("`facts` is None; expected facts about the entities of the pairs")
        self.facts_ = facts_of(self.facts)
        self.model_ = learn(
            self.facts_,
            read_labels(rows, target=self.target),
            method=self.method,
            language=self.language,
            counts=self.counts,
            rules=self.rules,
            keep=self.keep,
            seed=self.random_state,
            threads=self.n_jobs,
        )
        return self

    @property
    def rules_(self) -> list[str]:
        """The texts of the rules, priors left out, the heaviest first."""
        return [text for _, text in self._weighted_rules()]

    @property
    def feature_importances_(self) -> Floats:
        """The share of all weights that each rule of `rules_` has."""
        weights = np.array([weight for weight, _ in self._weighted_rules()])
        total = weights.sum()
        return weights / total if total else weights

    def _weighted_rules(self) -> list[tuple[float, str]]:
        check_is_fitted(self)
        rules = zip(self.model_.rules, self.model_.clause_texts, strict=True)
        found = [(rule.weight, text) for rule, text in rules if not rule.clause.is_prior]
        return sorted(found, key=lambda item: (-item[0], item[1]))

    def predict_proba(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """Probabilities of the two classes, in the order of `classes_`."""
        check_is_fitted(self)
        pairs = read_pairs(
            _named(validate_data(self, X, dtype=None, reset=False)), target=self.target
        )
        found = self.model_.predict(self.facts_, pairs, threads=self.n_jobs)["score"]
        return np.column_stack([1 - found, found])

    def predict(self, X: npt.ArrayLike) -> Array:  # noqa: N803
        """The more probable class of every pair."""
        true = self.predict_proba(X)[:, 1] >= self.model_.semantics.threshold
        return np.asarray(self.classes_[true.astype(np.int64)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.classifier_tags.multi_class = False
        return tags


def _named(pairs: Array) -> list[tuple[Any, ...]]:
    """Pairs as tuples of subject and object, entities as tuples of one name."""
    if pairs.shape[1] not in (1, 2):
        expected = "expected 2, subject and object, or 1, an entity"
        raise ValueError(f"X has {pairs.shape[1]} feature(s); {expected}")
    return [tuple(map(str, names)) for names in pairs.tolist()]
