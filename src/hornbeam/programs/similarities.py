"""Functions of predicates: Python functions of constants, and the built-in similarities of texts.

A program names a similarity where PSL names a class of Java code:

    "predicates": {"Similar/2": {"function": "levenshtein"}}

A Python function is given by its predicate's name: `hb.infer(program, functions={"Similar": f})`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

from hornbeam.errors import MissingExtraError

#: A function from the constants of an atom to its value from 0 to 1.
AtomFunction = Callable[..., float]


class Similarity(StrEnum):
    """The built-in similarities of two texts: 1 for equal texts, 0 where nothing agrees."""

    LEVENSHTEIN = "levenshtein"  #: 1 - edits / length of the longer text
    JARO_WINKLER = "jaro-winkler"  #: matching letters near each other, a common beginning counts
    JACCARD = "jaccard"  #: words in both texts / words in either, without case and punctuation

    @property
    def function(self) -> AtomFunction:
        """The similarity as a function of two texts."""
        if self is Similarity.JACCARD:
            return token_jaccard
        try:
            from rapidfuzz.distance import JaroWinkler, Levenshtein
        except ModuleNotFoundError:
            raise MissingExtraError(f"the similarity {self.value!r}", "similarity") from None
        if self is Similarity.LEVENSHTEIN:
            return Levenshtein.normalized_similarity
        return JaroWinkler.similarity


def token_jaccard(first: str, second: str) -> float:
    """Jaccard index of the words of two texts: words in both / words in either.

    Case and punctuation do not count. Two texts without words are equal.

    Examples
    --------
    >>> token_jaccard("The Art of War", "art of peace")
    0.4
    """
    one, other = (set(re.findall(r"\w+", text.casefold())) for text in (first, second))
    return len(one & other) / len(one | other) if one | other else 1.0
