"""How a model was learned, as `learn` wrote it beside the model: model.trace.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hornbeam.errors import DataError


@dataclass(frozen=True)
class CandidateOutcome:
    """A candidate sequence, what it covered in training, and what became of it."""

    clause: str
    coverage: int
    coverage_true: int
    paths: int
    outcome: str
    kept: bool


@dataclass(frozen=True)
class Validation:
    """Held-out log-loss along the path of strengths, for one way of counting.

    `folds` has the loss of every fold at the best of the strengths, where they are known.
    """

    counts: str
    strengths: tuple[float, ...]
    log_loss: tuple[float, ...]
    folds: tuple[float, ...] = ()


@dataclass(frozen=True)
class Trace:
    """What the report shows of the learning; what a learner does not have stays empty.

    Attributes
    ----------
    method, counts
        The learner's name and the way of counting that it chose.
    targets, positives
        Labelled pairs that it learned from, and the true ones among them.
    found
        Relation sequences that connect a labelled pair, before pruning.
    min_coverage, max_length, top
        The limits that pruned them, where they are known.
    candidates
        The sequences that were learned from.
    seconds
        Time of every phase.
    strength
        The strength of regularisation that was chosen.
    path
        (strength, rules kept) from the strongest down.
    validation
        The internal validation that chose.
    status
        How the fit ended.
    """

    method: str
    counts: str
    targets: int
    positives: int
    found: int
    candidates: tuple[CandidateOutcome, ...]
    seconds: Mapping[str, float]
    strength: float | None = None
    path: tuple[tuple[float, int], ...] = ()
    validation: tuple[Validation, ...] = ()
    min_coverage: int | None = None
    max_length: int | None = None
    top: int | None = None
    status: str = ""

    @property
    def kept(self) -> tuple[CandidateOutcome, ...]:
        """Candidates that became rules."""
        return tuple(candidate for candidate in self.candidates if candidate.kept)

    @property
    def dropped(self) -> tuple[CandidateOutcome, ...]:
        """Candidates that did not."""
        return tuple(candidate for candidate in self.candidates if not candidate.kept)


def trace_of(written: Mapping[str, Any]) -> Trace:
    """Read the dictionary that `learn` makes."""
    language = written.get("language") or {}
    return Trace(
        str(written["method"]),
        str(written["counts"]),
        int(written["targets"]),
        int(written["positives"]),
        int(written["found"]),
        tuple(
            CandidateOutcome(
                str(row["clause"]),
                int(row["coverage"]),
                int(row["coverage_true"]),
                int(row["paths"]),
                str(row.get("outcome", "")),
                bool(row.get("kept", False)),
            )
            for row in written["candidates"]
        ),
        {str(phase): float(spent) for phase, spent in written["seconds"].items()},
        None if "strength" not in written else float(written["strength"]),
        tuple((float(row["strength"]), int(row["rules"])) for row in written.get("path", ())),
        tuple(
            Validation(
                str(counts),
                tuple(map(float, row["strengths"])),
                tuple(map(float, row["log_loss"])),
                tuple(map(float, row.get("folds", ()))),
            )
            for counts, row in written.get("validation", {}).items()
        ),
        language.get("min_coverage"),
        language.get("max_length"),
        language.get("top"),
        str(written.get("status", "")),
    )


def read_trace(path: Path) -> Trace | None:
    """Read a trace file; None where there is none."""
    if not path.is_file():
        return None
    try:
        return trace_of(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        problem = "is no trace as learn writes it; delete it, or learn the model again"
        raise DataError(str(path), problem) from None
