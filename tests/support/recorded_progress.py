"""A progress that remembers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class RecordedProgress:
    """Remembers messages, and reports as stage, done and total."""

    messages: list[str] = field(default_factory=list)
    reports: list[tuple[str, int, int]] = field(default_factory=list)

    def message(self, text: str) -> None:
        """Remember a message."""
        self.messages.append(text)

    def advance(self, stage: str, done: int, total: int) -> None:
        """Remember a report."""
        self.reports.append((stage, done, total))
