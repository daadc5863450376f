"""Beliefs: the scores of the first step of a two-step collective model, as a predicate.

Rules of its second step have `believed_t` in bodies; its atoms are the pairs that are scored
together, with the scores of the first step as truth values:

    0.5: cites(A, B) & believed_mentions(B, C) -> mentions(A, C)
    0.9: believed_mentions(A, C) -> !mentions(A, B)

The second is about *rivals*: other pairs of the same subject. The first step's rules have
`believed_t` for their head.
"""

from __future__ import annotations

from hornbeam.rules.body import Body

#: Begins the name of a predicate of beliefs.
BELIEVED = "believed_"


def believed(target: str) -> str:
    """Name of the predicate of beliefs in a target.

    Examples
    --------
    >>> believed("mentions")
    'believed_mentions'
    """
    return BELIEVED + target


def mentions_beliefs(body: Body) -> bool:
    """Whether a body has a predicate of beliefs, by its name."""
    return any(name.startswith(BELIEVED) for name in body.predicates)
