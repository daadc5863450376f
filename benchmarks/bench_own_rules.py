"""Own rules of the program n25 of psl/links: alone, beside learned rules, and learned rules alone.

    python benchmarks/bench_own_rules.py --psl ../shared/psl

The model learns from the 3,000 labelled targets, and is judged on 3,000 others by the AUC-ROC of
its means. Own rules are those of the program; `Cand` lists the targets. The program learns from the
same rules as ground hinges, and is judged by its MAP state, in which all targets without a rule for
them have the value 0.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import hornbeam as hb
from common import DATA, finish, markdown, timed
from hornbeam.flow import learn_program

ASKED = 0.968
LANGUAGE = hb.RuleLimits(exclude=("Cand",))


def write_program(folder: Path, kind: str, work: Path) -> Path:
    """The program over the targets to learn from, or over those to evaluate."""
    document = json.loads((folder / "links" / "n25-infer.json").read_text())
    for about in document["predicates"].values():
        for part in ("observations", "targets", "truth"):
            names = about.get(part, [])
            about[part] = [
                str((folder / "links" / name.replace("_eval", f"_{kind}")).resolve())
                for name in names
            ]
    path = work / f"{kind}.json"
    path.write_text(json.dumps(document))
    return path


def observed_only(rules: list[str]) -> list[str]:
    """The rules whose bodies have no target, without (A != C), which no target violates."""
    kept = [rule for rule in rules if "->" not in rule or "Target(" not in rule.split("->")[0]]
    return [re.sub(r" & \(\w != \w\)", "", rule) for rule in kept]


def model_rows(learn: Path, test: Path, rules: list[str]) -> list[list[str]]:
    """Models of own rules, of learned rules, and of both."""
    alone = hb.RuleLimits(min_coverage=1_000_000)
    asked: dict[str, dict[str, Any]] = {
        "own rules, fitted": {"rules": observed_only(rules), "language": alone},
        "learned rules": {},
        "learned rules, raw and squared": {"counts": "raw", "relaxation": "squared"},
        "both": {"rules": observed_only(rules)},
        "both, raw": {"rules": observed_only(rules), "counts": "raw"},
        "both, raw, weights of 1 kept": {
            "rules": observed_only(rules), "counts": "raw", "keep": True
        },
        "both, all 26 own rules, --cross-evidence": {"rules": rules, "cross_evidence": True},
    }  # fmt: skip
    given = hb.Model.parse("\n".join(observed_only(rules)))
    rows = [["own rules with weight 1", str(len(given.rules)), f"{auc(given, test):.4f}", ""]]
    for name, settings in asked.items():
        learned = partial(hb.learn, str(learn), str(learn), **{"language": LANGUAGE, **settings})
        model, seconds = timed(learned)
        figure = auc(model, test)
        is_asked = name.startswith("both") and not settings.get("keep")
        missed = " (missed)" if is_asked and figure < ASKED else ""
        rows.append([name, str(len(model.rules)), f"{figure:.4f}{missed}", f"{seconds.cpu:.1f}"])
    return rows


def auc(model: hb.Model, test: Path) -> float:
    """AUC-ROC of the means."""
    found = model.evaluate(str(test), str(test)).auc_roc
    assert found is not None
    return found


def program_rows(learn: Path, test: Path, work: Path) -> list[list[str]]:
    """Programs of given rules, and with learned rules beside them."""
    document = json.loads(test.read_text())

    def inferred(rules: list[str]) -> str:
        path = work / "inferred.json"
        path.write_text(json.dumps({**document, "rules": rules}))
        return f"{hb.infer(path).evaluations['Target'].auc_roc:.4f}"

    fitted, seconds = timed(lambda: hb.learn_weights(learn))
    weights = [str(rule) for rule in fitted.rules]
    both, more = timed(lambda: learn_program(learn, guard="Cand"))
    return [
        ["as it is", str(len(weights)), inferred(document["rules"]), ""],
        ["weights fitted", str(len(weights)), inferred(weights), f"{seconds.cpu:.1f}"],
        ["with learned rules", str(len(both.rules)), inferred([str(rule) for rule in both.rules]),
         f"{more.cpu:.1f}"],
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--psl", type=Path, default=DATA.parent / "psl", help="folder with links/")
    folder = parser.parse_args().psl
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        learn, test = (write_program(folder, kind, work) for kind in ("learn", "eval"))
        rules = json.loads(learn.read_text())["rules"]
        print(markdown(["model", "rules", "AUC-ROC", "CPU s"], model_rows(learn, test, rules)))
        print()
        rows = program_rows(learn, test, work)
        print(markdown(["program", "rules", "AUC-ROC of the MAP state", "CPU s"], rows))
    finish()


if __name__ == "__main__":
    main()
