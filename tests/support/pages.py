"""Reading pages in tests: what tags, texts and attributes an HTML text really has."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

#: Elements that have no end.
VOID = {"meta", "br", "hr", "img", "input", "link"}
#: Elements that stand within a line.
INLINE = {"b", "bdi", "var", "strong", "small", "a"}


@dataclass
class Page(HTMLParser):
    """A parsed page: its tags with their attributes, its text, and whether it is well nested."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    @classmethod
    def of(cls, html: str) -> Page:
        """Parse a page that must close what it opens."""
        page = cls()
        page.feed(html)
        page.close()
        assert not page._open
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that closes itself."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Check that the innermost open tag is closed."""
        assert self._open.pop() == tag
        self.text += "" if tag in INLINE else " "

    def handle_data(self, data: str) -> None:
        """Collect the text that is shown."""
        if self._open and self._open[-1] not in ("style", "script"):
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of every element of a name."""
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def words(self) -> str:
        """The text with single spaces."""
        return " ".join(self.text.split())
