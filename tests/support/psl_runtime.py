"""Questions to PSL's own runtime, in a process with a Java virtual machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.psl_corpus import PREDICATES

#: Reads predicates and texts from the standard input; writes the rules of each, or None.
ASK = """
import json, sys
import jpype

asked = json.load(sys.stdin)
jpype.startJVM("-Xmx512m", classpath=[asked["jar"]], convertStrings=True)
string = jpype.JClass("org.linqs.psl.model.term.ConstantType").UniqueStringID
predicate = jpype.JClass("org.linqs.psl.model.predicate.StandardPredicate")
for name, arity in asked["predicates"].items():
    kind = jpype.JArray(jpype.JClass("org.linqs.psl.model.term.ConstantType"))
    predicate.get(name, kind([string] * arity))
loader = jpype.JClass("org.linqs.psl.parser.ModelLoader")
options = {}
for name in ("Options", "RuntimeOptions"):
    holder = jpype.JClass("org.linqs.psl.config." + name)
    for field in holder.class_.getDeclaredFields():
        option = getattr(holder, str(field.getName()), None)
        if hasattr(option, "defaultValue"):
            value = option.defaultValue()
            options[str(option.name())] = None if value is None else str(value)
answers = []
for text in asked["texts"]:
    try:
        answers.append([str(rule.toString()) for rule in loader.load(text).getRules()])
    except jpype.JException:
        answers.append(None)
print("ANSWERS " + json.dumps([answers, options]))
"""


def ask(jar: Path, texts: list[str]) -> list[list[str] | None]:
    """Rules that PSL reads in each text, None where it refuses."""
    answers: list[list[str] | None] = _asked(jar, texts)[0]
    return answers


def psl_options(jar: Path) -> dict[str, str | None]:
    """Options of PSL's runtime, and their defaults."""
    options: dict[str, str | None] = _asked(jar, [])[1]
    return options


def _asked(jar: Path, texts: list[str]) -> list[Any]:
    asked = json.dumps({"jar": str(jar), "predicates": PREDICATES, "texts": texts})
    done = subprocess.run(
        [sys.executable, "-c", ASK], input=asked, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert len(lines) == 1, done.stderr
    found: list[Any] = json.loads(lines[0].removeprefix("ANSWERS "))
    return found
