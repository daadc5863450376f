"""What reports are made of: people in a ring, and names that are no plain words."""

from __future__ import annotations

import json
from collections.abc import Sequence

import hornbeam as hb

PEOPLE = [f"p{k}" for k in range(12)]


def world(n: int = 12) -> tuple[hb.Facts, hb.Targets]:
    """Who knows whom in a ring, and labels of which some are wrong on purpose."""
    people = PEOPLE[:n]
    facts = [(a, "knows", b) for a, b in zip(people, people[1:] + people[:1], strict=True)]
    facts += [(people[0], "owes", people[2]), (people[5], "same", people[7])]
    labels = [(a, "trusts", people[(k + 2) % n], 1.0) for k, a in enumerate(people)]
    labels += [(a, "trusts", people[(k + 5) % n], 0.0) for k, a in enumerate(people)]
    labels += [("p1", "trusts", "p9", 1.0), ("nobody", "trusts", "p1", 0.0)]
    labels[3] = (*labels[3][:3], 0.0)
    return hb.read_facts(facts), hb.read_labels(labels)


def nasty_world(names: Sequence[str]) -> tuple[hb.Model, tuple[hb.Facts, hb.Targets]]:
    """Every entity and predicate has a name that breaks what is not careful."""
    p, q, t = (f"{name}{k}" for k, name in enumerate(names[:3]))
    facts = hb.read_facts([(a, p, b) for a in names for b in names[:4]] + [(names[0], q, names[1])])
    labels = hb.read_labels([(a, t, b, float(k % 2)) for k, a in enumerate(names) for b in names])
    rules = hb.Model.parse("2: p(A, B) -> t(A, B)\n1: q(B, A) -> !t(A, B)\n0.1: !t(A, B)").rules
    text = hb.Model(rules).text.replace(
        '"predicates": {}',
        '"predicates": ' + json.dumps({"p": p, "q": q, "t": t}),
    )
    return hb.Model.parse(text), (facts, labels)


NASTY = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "'; alert(1); '",
    "</style><script>alert(1)</script>",
    "{{ 7 * 7 }} {% raw %}",
    "javascript:alert(1)",
    "&lt;b&gt; &amp; <b>bold</b>",
    "\u202eevil\u2066mirror",
    "\x1b[2J\x07",
    "very long " + "x" * 5000,
    "ü \N{SNAKE} 中文 עברית",
)
