"""A small world with a target on one entity: which customers leave."""

from __future__ import annotations

import random

#: A model of it by hand: a path from the customer back to itself, and conditions on it.
MODEL = """# hornbeam: {"counts": "raw"}
1.5: plan(A, 'basic') -> churn(A)
0.5: friend(A, B) & friend(B, A) -> churn(A)
1.0: vip(A) -> !churn(A)
0.25: complained(A, B) -> churn(A) [log]
1.0: !churn(A)
"""

Rows = list[tuple[str, ...]]


def customers(seed: int = 0, number: int = 80) -> tuple[Rows, Rows]:
    """Facts, and labels `customer, churn, 0 or 1`: basic plans and complaints make them leave."""
    rng = random.Random(seed)
    names = [f"c{i}" for i in range(number)]
    facts, labels = Rows(), Rows()
    for name in names:
        basic, vip, complaints = rng.random() < 0.5, rng.random() < 0.2, rng.choice([0, 0, 1, 2])
        facts.append((name, "plan", "basic" if basic else "gold"))
        facts += [(name, "vip")] * vip
        facts += [(name, "complained", f"ticket {name} {k}") for k in range(complaints)]
        facts += [(name, "friend", friend) for friend in rng.sample(names, 2) if friend != name]
        leaves = basic + 0.5 * complaints - vip + rng.gauss(0, 0.3) > 0.7
        labels.append((name, "churn", str(int(leaves))))
    rng.shuffle(facts)
    return facts, labels
