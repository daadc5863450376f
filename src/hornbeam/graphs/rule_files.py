"""Rules of other tools, read and written.

AnyBURL writes a rule per line, after how often it predicts, how often it is right, and their ratio:

    103	77	0.7475	treats(X,Y) <= contains(X,A), treats(A,Y)

AMIE writes the body first and its figures last:

    ?a  <contains>  ?c  ?c  <treats>  ?b   => ?a  <treats>  ?b	0.2	0.7475	0.8	77	103

Of either only the rules are taken: what they get right is counted anew. Bodies that are a path
between the two variables of the head become path rules. Rules with constants and one atom are what
learning lists by itself, all there are; any others are counted and left out.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hornbeam.errors import DataError, InputError
from hornbeam.files import save_text
from hornbeam.graphs.graph_text import BETWEEN, rule_text
from hornbeam.graphs.queries import Direction
from hornbeam.graphs.ranking_model import CountedRule, RankingModel, RelationRules
from hornbeam.rules.body import Step

AnyPath = tuple[Step, ...]

#: An atom of AnyBURL between variables, which are single capitals; names may have anything else.
ATOM = re.compile(r"\s*(.+?)\(([A-Z]),\s*([A-Z])\)(?:,\s|\s*$)")
#: What AMIE puts between the words of a rule: names may have single spaces.
WIDE = re.compile(r"\s{2,}")


# --- reading --------------------------------------------------------------------------------------


class _Atom(NamedTuple):
    relation: str
    subject: str
    object: str


@dataclass(frozen=True)
class ImportedRules:
    """Paths from subject to object, by relation; and how many lines say something else.

    Attributes
    ----------
    paths
        What is taken.
    with_constants
        Rules whose atoms have constants.
    no_paths
        Rules whose bodies are no path between the variables of the head, or one that is too long.
    unknown
        Rules with relations that the facts do not have.
    """

    paths: Mapping[str, tuple[AnyPath, ...]]
    with_constants: int = 0
    no_paths: int = 0
    unknown: int = 0

    def __len__(self) -> int:
        return sum(map(len, self.paths.values()))


def read_rules(
    path: str | os.PathLike[str], relations: Collection[str], max_length: int
) -> ImportedRules:
    """Read a file of AnyBURL's or AMIE's, told apart line by line.

    Parameters
    ----------
    path
        The file.
    relations
        Those of the facts. Where they are written without the angle brackets of AMIE, these go.
    max_length
        The most atoms of a path that is taken.

    Raises
    ------
    hornbeam.errors.DataError
        Where the file cannot be read, has a line that is no rule, or no rule at all.
    """
    name = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(name, f"cannot be read: {error}") from None
    found = defaultdict[str, set[AnyPath]](set)
    left_out = dict.fromkeys(("with_constants", "no_paths", "unknown"), 0)
    rules = 0
    for number, line in enumerate(text.splitlines(), start=1):
        atoms = _atoms(line, name, number)
        if atoms is None:
            continue
        rules += 1
        if not atoms:
            left_out["with_constants"] += 1
            continue
        head, *body = (_known(atom, relations) for atom in atoms)
        if any(atom.relation not in relations for atom in (head, *body)):
            left_out["unknown"] += 1
            continue
        chain = _chain(head, body)
        if chain is None or len(chain) > max_length or chain == (Step(head.relation),):
            left_out["no_paths"] += 1
        else:
            found[head.relation].add(chain)
    if not rules:
        raise DataError(
            name, "has no rule: expected lines such as `head <= body` of AnyBURL or `body => head` "
            "of AMIE",
        )  # fmt: skip
    return ImportedRules({key: tuple(sorted(found[key])) for key in sorted(found)}, **left_out)


def _atoms(line: str, file: str, number: int) -> list[_Atom] | None:
    """Head and body of a line; nothing where it has constants, None where it is no rule.

    Headers, comments and what AMIE says while it works have no arrow; a line with figures must.
    """
    said = line.strip()
    for field in said.split("\t"):
        if "<=" in field:
            head, _, body = field.partition("<=")
            sides = _written_by_anyburl(head), _written_by_anyburl(body)
        elif "=>" in field:
            body, _, head = field.rpartition("=>")
            sides = _written_by_amie(head), _written_by_amie(body)
        else:
            continue
        heads, body_atoms = sides
        if heads is None or body_atoms is None or len(heads) > 1:
            raise DataError(file, f"is no rule: {field.strip()[:80]!r}", number)
        return [*heads, *body_atoms] if heads and body_atoms else []
    if re.match(r"\d+\t\d+\t", said):
        raise DataError(file, f"has no arrow `<=` or `=>`: {said[:80]!r}", number)
    return None


def _written_by_anyburl(side: str) -> list[_Atom] | None:
    """Atoms between variables; none where there are constants, None where there is no atom."""
    atoms, at = list[_Atom](), 0
    side = side.strip()
    if "(" not in side:
        return None
    while at < len(side):
        match = ATOM.match(side, at)
        if match is None or "), " in match[1]:
            return []
        atoms.append(_Atom(*match.groups()))
        at = match.end()
    return atoms


def _written_by_amie(side: str) -> list[_Atom] | None:
    words = [word for word in WIDE.split(side.strip()) if word]
    if not words or len(words) % 3:
        return None
    atoms = [_Atom(words[k + 1], words[k], words[k + 2]) for k in range(0, len(words), 3)]
    constants = any(not end.startswith("?") for atom in atoms for end in (atom[1], atom[2]))
    return [] if constants else atoms


def _known(atom: _Atom, relations: Collection[str]) -> _Atom:
    name = atom.relation
    if name not in relations and name.startswith("<") and name.endswith(">"):
        return atom._replace(relation=name[1:-1])
    return atom


def _chain(head: _Atom, body: Sequence[_Atom]) -> AnyPath | None:
    """The body as a path from the head's subject to its object, whatever the order of its atoms."""
    left, at, seen = list(body), head.subject, {head.subject}
    steps = list[Step]()
    if head.subject == head.object:
        return None
    while left:
        touching = [atom for atom in left if at in (atom.subject, atom.object)]
        if len(touching) != 1:
            return None
        [atom] = touching
        left.remove(atom)
        inverse = atom.object == at
        steps.append(Step(atom.relation, inverse))
        at = atom.subject if inverse else atom.object
        if at in seen:
            return None
        seen.add(at)
    return tuple(steps) if at == head.object else None


# --- writing --------------------------------------------------------------------------------------


def save_rules(model: RankingModel, path: str | os.PathLike[str]) -> None:
    """Write all rules of a model: `.csv`, `.jsonl`, or `.anyburl` and `.txt` as AnyBURL does.

    In AnyBURL's format a rule that answers in both directions is one line, with the predictions and
    hits of both.
    """
    writers = {".csv": _as_csv, ".jsonl": _as_json, ".anyburl": _as_anyburl, ".txt": _as_anyburl}
    suffix = Path(path).suffix.lower()
    if suffix not in writers:
        raise InputError(f"{os.fspath(path)}: expected a name that ends in {', '.join(writers)}")
    save_text(path, writers[suffix](model))


#: What a record of a rule has.
RECORD_FIELDS = ("relation", "direction", "kind", "rule", "confidence", "hits", "predicted")


def rule_records(model: RankingModel) -> Iterator[dict[str, str | float | int]]:
    """All rules as plain values."""
    for part in model.relations:
        for rule in part.all_rules:
            yield {
                "relation": part.relation,
                "direction": str(part.direction),
                "kind": rule.kind,
                "rule": rule_text(part.relation, part.direction, rule),
                "confidence": rule.confidence,
                "hits": rule.hits,
                "predicted": rule.predicted,
            }


def _as_json(model: RankingModel) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in rule_records(model))


def _as_csv(model: RankingModel) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, RECORD_FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rule_records(model))
    return out.getvalue()


def _as_anyburl(model: RankingModel) -> str:
    figures = defaultdict[str, list[int]](lambda: [0, 0])
    for part in model.relations:
        for rule in part.all_rules:
            total = figures[_anyburl(part, rule)]
            total[0] += rule.predicted
            total[1] += rule.hits
    ranked = sorted(figures.items(), key=lambda item: (-item[1][1] / max(item[1][0], 1), item[0]))
    return "".join(
        f"{predicted}\t{hits}\t{hits / max(predicted, 1)}\t{text}\n"
        for text, (predicted, hits) in ranked
    )


def _anyburl(part: RelationRules, rule: CountedRule) -> str:
    """A rule as AnyBURL writes it: from X to Y, whichever of them is known."""
    asks_subject = part.direction is Direction.SUBJECT
    known, asked = ("Y", "X") if asks_subject else ("X", "Y")
    answer, last = rule.ends(asked, str, "A")
    between = BETWEEN[: len(rule.steps) - 1]
    terms = [known, *(reversed(between) if asks_subject else between), last]
    atoms = [_bare(step, *terms[i : i + 2]) for i, step in enumerate(rule.steps)]
    head = _bare(Step(part.relation, asks_subject), known, answer)
    return f"{head} <= {', '.join(atoms[::-1] if asks_subject else atoms)}"


def _bare(step: Step, here: str, there: str) -> str:
    first, second = (there, here) if step.inverse else (here, there)
    return f"{step.predicate}({first},{second})"
