"""Rules of other tools, read and written.

AnyBURL writes one rule per line, after its predictions, its hits and their ratio:

    103	77	0.7475	treats(X,Y) <= contains(X,A), treats(A,Y)

AMIE writes the body first and its figures last:

    ?a  <contains>  ?c  ?c  <treats>  ?b   => ?a  <treats>  ?b	0.2	0.7475	0.8	77	103

Only the rules are read from such files: their hits are counted again. Bodies that are a path
between the two variables of the head become path rules. Rules with constants are left out: learning
itself counts all rules with constants and one body atom. All other rules are left out, too. How
many rules are left out is reported.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hornbeam.errors import DataError
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.language.syntax import Atom, Comparison, Constant, Variable
from hornbeam.rules.body import Step
from hornbeam.rules.clause import Clause

AnyPath = tuple[Step, ...]
#: Why rules are left out: their atoms have constants; their bodies are too long, or no path between
#: the variables of the head; the facts lack their relations.
CONSTANTS, NO_PATH = "with constants", "that are not paths of the allowed length"
UNKNOWN = "with relations that no fact has"

#: An atom of AnyBURL between variables, which are single capitals; names may have any characters.
ATOM = re.compile(r"\s*(.+?)\(([A-Z]),\s*([A-Z])\)(?:,\s|\s*$)")
#: The space that AMIE puts between the words of a rule: names may have single spaces.
WIDE = re.compile(r"\s{2,}")


# --- reading --------------------------------------------------------------------------------------


class _ImportedAtom(NamedTuple):
    relation: str
    subject: str
    object: str


@dataclass(frozen=True)
class ImportedRules:
    """Paths from subject to object, by relation; and how many rules are left out, by reason."""

    paths: Mapping[str, tuple[AnyPath, ...]]
    left_out: Mapping[str, int]

    def __len__(self) -> int:
        return sum(map(len, self.paths.values()))


def read_imported_rules(
    path: str | os.PathLike[str], relations: Collection[str], max_length: int
) -> ImportedRules:
    """Read a file of AnyBURL or AMIE; the format is recognised line by line.

    Parameters
    ----------
    path
        The file.
    relations
        Relations of the facts; AMIE's angle brackets are removed from names that the facts lack.
    max_length
        Maximum number of atoms of a path.

    Raises
    ------
    hornbeam.errors.DataError
        Where the file cannot be read, has a line that is not a rule, or no rule at all.
    """
    name = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(name, f"cannot be read: {error}") from None
    found = defaultdict[str, set[AnyPath]](set)
    left_out = dict.fromkeys((CONSTANTS, NO_PATH, UNKNOWN), 0)
    rules = 0
    for number, line in enumerate(text.splitlines(), start=1):
        atoms = _atoms(line, name, number)
        if atoms is None:
            continue
        rules += 1
        if not atoms:
            left_out[CONSTANTS] += 1
            continue
        head, *body = (_known(atom, relations) for atom in atoms)
        if any(atom.relation not in relations for atom in (head, *body)):
            left_out[UNKNOWN] += 1
            continue
        chain = _chain(head, body)
        if chain is None or len(chain) > max_length or chain == (Step(head.relation),):
            left_out[NO_PATH] += 1
        else:
            found[head.relation].add(chain)
    if not rules:
        raise DataError(
            name, "has no rule: expected lines such as `head <= body` of AnyBURL or `body => head` "
            "of AMIE",
        )  # fmt: skip
    return ImportedRules({key: tuple(sorted(found[key])) for key in sorted(found)}, left_out)


def _atoms(line: str, file: str, number: int) -> list[_ImportedAtom] | None:
    """Head and body of a line's rule; empty if it has constants, None if the line has no rule.

    Headers, comments and AMIE's progress messages have no arrow; a line with figures must have one.
    """
    line = line.strip()
    for field in line.split("\t"):
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
            raise DataError(file, f"is not a rule: {field.strip()[:80]!r}", number)
        return [*heads, *body_atoms] if heads and body_atoms else []
    if re.match(r"\d+\t\d+\t", line):
        raise DataError(file, f"has no arrow `<=` or `=>`: {line[:80]!r}", number)
    return None


def _written_by_anyburl(side: str) -> list[_ImportedAtom] | None:
    """Atoms between variables; empty if there are constants, None if there is no atom."""
    atoms, at = list[_ImportedAtom](), 0
    side = side.strip()
    if "(" not in side:
        return None
    while at < len(side):
        match = ATOM.match(side, at)
        if match is None or "), " in match[1]:
            return []
        atoms.append(_ImportedAtom(*match.groups()))
        at = match.end()
    return atoms


def _written_by_amie(side: str) -> list[_ImportedAtom] | None:
    words = [word for word in WIDE.split(side.strip()) if word]
    if not words or len(words) % 3:
        return None
    atoms = [_ImportedAtom(words[k + 1], words[k], words[k + 2]) for k in range(0, len(words), 3)]
    constants = any(not end.startswith("?") for atom in atoms for end in (atom[1], atom[2]))
    return [] if constants else atoms


def _known(atom: _ImportedAtom, relations: Collection[str]) -> _ImportedAtom:
    name = atom.relation
    if name not in relations and name.startswith("<") and name.endswith(">"):
        return atom._replace(relation=name[1:-1])
    return atom


def _chain(head: _ImportedAtom, body: Sequence[_ImportedAtom]) -> AnyPath | None:
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


def anyburl_text(model: RankingModel) -> str:
    """All rules of a model in AnyBURL's format.

    A rule that answers in both directions is one line, with the predictions and hits of both.
    """
    figures = defaultdict[str, list[int]](lambda: [0, 0])
    for part in model.relations:
        for rule in part.all_rules:
            total = figures[_anyburl(rule.clause)]
            total[0] += rule.predicted
            total[1] += rule.hits
    ranked = sorted(figures.items(), key=lambda item: (-item[1][1] / max(item[1][0], 1), item[0]))
    return "".join(
        f"{predicted}\t{hits}\t{hits / max(predicted, 1)}\t{text}\n"
        for text, (predicted, hits) in ranked
    )


def _anyburl(clause: Clause) -> str:
    """A clause as AnyBURL writes it: from X to Y, names as they are."""
    body, head = clause.atoms(Variable("X"), Variable("Y"))
    return f"{_bare(head)} <= {', '.join(map(_bare, body))}"


def _bare(literal: Atom | Comparison) -> str:
    assert isinstance(literal, Atom)
    terms = [term.value if isinstance(term, Constant) else str(term) for term in literal.arguments]
    return f"{literal.predicate}({','.join(terms)})"
