"""GraphML, read by the standard library's parser of XML; entities of a document type are refused.

Attributes have the types that the file declares. An attribute `labels` such as `:Person:Actor`, as
Neo4j exports it, has classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from hornbeam.base.texts import quote
from hornbeam.errors import DataError
from hornbeam.facts.reading.property_graph import GraphItem, GraphReader, typed_text
from hornbeam.facts.reading.workspace import File

#: Separates the namespace of an element from its name.
BETWEEN = " "
#: What has a link's id, and the predicate only if the user says so: NetworkX writes the keys of a
#: multigraph there, other programs write numbers.
EDGE_ID = "id"


@dataclass(frozen=True)
class _Key:
    """A declared attribute: what it is called, of which type, and its value where none is given."""

    name: str
    type: str
    about: str
    default: str | None = None


@dataclass
class _Element:
    """The node or the link that is being read."""

    at: int
    attributes: dict[str, str]
    data: dict[str, str] = field(default_factory=dict)


@dataclass
class _Parser:
    """Handlers of XML; what was read goes to `items`."""

    reader: GraphReader
    parser: expat.XMLParserType
    items: list[GraphItem] = field(default_factory=list)
    keys: dict[str, _Key] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)
    ends: dict[str, int] = field(default_factory=dict)  #: ends of links, with the first line
    open_elements: list[_Element] = field(default_factory=list)
    directed: list[bool] = field(default_factory=list)  #: of the graphs around
    key: str = ""  #: the key of the data, or the declared key, that is being read
    text: list[str] | None = None
    depth: int = 0

    def error(self, problem: str) -> DataError:
        """Make an error at the line that is being read."""
        return self.reader.error(problem, self.parser.CurrentLineNumber)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        name, self.depth = name.split(BETWEEN)[-1], self.depth + 1
        if self.depth == 1 and name != "graphml":
            raise self.error(f"begins with <{quote(name, '')}>; expected <graphml>")
        match name:
            case "key":
                self.key = self._required(name, attributes, "id")
                called = attributes.get("attr.name", self.key)
                kind, about = attributes.get("attr.type", "string"), attributes.get("for", "all")
                self.keys[self.key] = _Key(called, kind, about)
            case "graph":
                default = attributes.get("edgedefault", "directed")
                if default not in ("directed", "undirected"):
                    expected = "expected directed or undirected"
                    raise self.error(f"edgedefault is {quote(default)}; {expected}")
                self.directed.append(default == "directed")
            case "node":
                self._required(name, attributes, "id")
                self._open(attributes)
            case "edge":
                if not self.directed:
                    raise self.error("an <edge> outside of any <graph>; expected it inside")
                for place in ("source", "target"):
                    end = self._required(name, attributes, place)
                    self.ends.setdefault(end, self.parser.CurrentLineNumber)
                self._open(attributes)
            case "hyperedge":
                raise self.error("a hyperedge joins any number of nodes; expected edges")
            case "data":
                self.key, self.text = self._required(name, attributes, "key"), []
                if self.key not in self.keys:
                    raise self.error(f"no key {quote(self.key)} is declared; expected one")
            case "default":
                if self.key not in self.keys:
                    raise self.error("a <default> outside of any <key>; expected it inside")
                self.text = []

    def end(self, name: str) -> None:
        """An element ends."""
        name, self.depth = name.split(BETWEEN)[-1], self.depth - 1
        match name:
            case "graph":
                self.directed.pop()
            case "key":
                self.key = ""
            case "data" | "default":
                text, self.text = "".join(self.text or ()), None
                if name == "default":
                    key = self.keys[self.key]
                    self.keys[self.key] = _Key(key.name, key.type, key.about, text)
                elif self.open_elements:
                    self.open_elements[-1].data[self.key] = text
            case "node":
                self._node(self.open_elements.pop())
            case "edge":
                self._edge(self.open_elements.pop())

    def read(self, text: str) -> None:
        """Text, which means something inside of data."""
        if self.text is not None:
            self.text.append(text)

    def refuse(self, name: str, *_: object) -> None:
        """Entities of a document type may be bombs, or name other files."""
        raise self.error(f"declares the entity {quote(name)}; expected GraphML without entities")

    def _open(self, attributes: dict[str, str]) -> None:
        self.open_elements.append(_Element(self.parser.CurrentLineNumber, attributes))

    def _required(self, element: str, attributes: dict[str, str], name: str) -> str:
        if not attributes.get(name):
            raise self.error(f"<{element}> has no {name}; expected one")
        return attributes[name]

    def _values(self, element: _Element, about: str) -> dict[str, object]:
        """The attributes of a node or link, in the types that are declared."""
        values = dict[str, object]()
        for number, key in self.keys.items():
            text = element.data.get(number, key.default if key.about in (about, "all") else None)
            if text is not None:
                try:
                    values[key.name] = typed_text(text, key.type)
                except ValueError as error:
                    raise self.reader.error(f"{quote(key.name)}: {error}", element.at) from None
        return values

    def _node(self, element: _Element) -> None:
        reader, at = self.reader, element.at
        node = reader.name("node", element.attributes["id"], at)
        self.nodes.add(node)
        values = self._values(element, "node")
        labels = values.get("labels")
        if isinstance(labels, str) and labels.startswith(":"):
            del values["labels"]
            self.items += reader.classes(at, node, labels[1:].split(":"))
        self.items += reader.attributes(at, node, values)

    def _edge(self, element: _Element) -> None:
        given = element.attributes
        said = {"true": True, "false": False}.get(given.get("directed", ""), self.directed[-1])
        ends = given["source"], given["target"]
        values = self._values(element, "edge")
        if self.reader.layout.columns.get("predicate") == EDGE_ID and EDGE_ID in given:
            values.setdefault(EDGE_ID, given[EDGE_ID])
        self.items += self.reader.links(element.at, ends, values, directed=said)


def graphml_items(file: File, reader: GraphReader) -> Iterator[GraphItem]:
    """The items of a GraphML file; errors name the line."""
    expat_parser = expat.ParserCreate(namespace_separator=BETWEEN)
    parser = _Parser(reader, expat_parser)
    expat_parser.StartElementHandler = parser.start
    expat_parser.EndElementHandler = parser.end
    expat_parser.CharacterDataHandler = parser.read
    expat_parser.EntityDeclHandler = parser.refuse
    try:
        for block in file.blocks():
            expat_parser.Parse(block, False)
            yield from parser.items
            parser.items.clear()
        expat_parser.Parse(b"", True)
    except expat.ExpatError as error:
        problem = f"{expat.ErrorString(error.code)}; expected GraphML, which is XML"
        raise reader.error(problem, error.lineno) from None
    yield from parser.items
    for end, at in parser.ends.items():
        if end not in parser.nodes:
            problem = f"no node {quote(end)} is in the file; expected the ends of links"
            raise reader.error(problem, at)
