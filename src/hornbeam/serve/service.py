"""The JSON service under /api/v1: what programs ask of the model that an explorer shows.

Requests are checked against the schemas of the service's OpenAPI document
(`hornbeam.serve.service_schema`), so that the document says what is true. Every error has one form:
`{"error": {"status": 400, "message": "..."}}`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from hornbeam.base.version import __version__
from hornbeam.errors import HornbeamWarning, InputError, UnknownNameError
from hornbeam.facts.reading.readers import as_pairs
from hornbeam.ranking.named_queries import ASKED, as_queries
from hornbeam.scoring.model_checks import named_atom, one_target
from hornbeam.serve.edits import NO_EDITS
from hornbeam.serve.graph_explorer import GraphExplorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.service_schema import PREFIX, SCHEMAS, openapi
from hornbeam.serve.visits import PageAnswer, Visit, json_answer

#: Name of the field of a visit that has the body of a request to the service.
BODY = "body"

Values = Mapping[str, Any]


#: An explorer of a model, which has what the service answers from.
Served = RuleExplorer | GraphExplorer


@dataclass(frozen=True)
class Endpoint:
    """One address of the service: its path, its method, and how it answers a body."""

    path: str
    method: str
    answer: Callable[[Values], Values]


@dataclass(frozen=True, eq=False)
class Service:
    """The endpoints of a model."""

    served: Served

    @cached_property
    def endpoints(self) -> Sequence[Endpoint]:
        """All endpoints, but for the one that reloads, which is the server's business."""
        return [
            Endpoint(f"{PREFIX}/predict", "POST", self.predict),
            Endpoint(f"{PREFIX}/rank", "POST", self.rank),
            Endpoint(f"{PREFIX}/explain", "POST", self.explain),
            Endpoint(f"{PREFIX}/model", "GET", self.describe),
            Endpoint(f"{PREFIX}/health", "GET", lambda _: {"status": "ok"}),
            Endpoint(f"{PREFIX}/openapi.json", "GET", lambda _: openapi()),
        ]

    def predict(self, body: Values) -> Values:
        """Score pairs or triples, in their order, and name the entities that no fact has."""
        triples = self._triples(body["pairs"], "body.pairs[{}]")
        names = {name for subject, _, object_ in triples for name in (subject, object_)}
        known, pairs = self.served.facts.entities, as_pairs(triples)
        on_one = [name for name, arity in self.served.model.target_arities.items() if arity == 1]
        found = self.served.scorer.predict(replace(pairs, unary=frozenset(on_one)))
        return {
            "scores": [_plain(row) for row in found.dicts()],
            "unknown": sorted(name for name in names if known.index(name) < 0),
        }

    def rank(self, body: Values) -> Values:
        """The best answers of every query."""
        queries = [tuple(query) for query in body["queries"]]
        asked, model = as_queries(queries), self.served.model
        relations = self.served.entity_names.relations(asked.rows.predicates, model.targets)
        asked = replace(asked, rows=asked.rows.renamed({}, relations))
        for name in asked.rows.predicates:
            one_target(model, name)
        found = self.served.ranker.rank(asked, top=int(body.get("top", 10)))  # 3.0 is whole, too
        answers: list[list[Values]] = [[] for _ in queries]
        for row, query in zip(found.dicts(), found["query"], strict=True):
            entity = row["subject" if queries[query - 1][0] == "?" else "object"]
            answer = {"entity": entity} | {key: row[key] for key in ("score", "rank") if key in row}
            if "probability" in row:
                answer["probability"] = row["probability"]
            answers[query - 1].append(_plain(answer))
        told = zip(queries, answers, strict=True)
        return {"queries": [{"query": query, "answers": best} for query, best in told]}

    def explain(self, body: Values) -> Values:
        """The parts and reasons of one link's score."""
        [triple] = self._triples([body["link"]], "body.link")
        return self.served.explain(*triple, NO_EDITS).as_dict()

    def describe(self, body: Values) -> Values:
        """What the model is, and what it answers from."""
        model, facts = self.served.model, self.served.facts
        return {
            "name": self.served.name,
            "kind": type(model).__name__,
            "targets": list(model.targets),
            "rules": len(model.to_table()),
            "collective": model.is_collective,
            "facts": len(facts),
            "entities": len(facts.entities),
            "version": __version__,
            "card": model.card().as_dict(),
        }

    def _triples(self, rows: Sequence[Sequence[str]], place: str) -> list[tuple[str, str, str]]:
        """Rows as triples; those without a relation are of the model's only target."""
        served = self.served
        asking = [k for k, row in enumerate(rows) if ASKED in row]
        if asking and served.facts.entities.index(ASKED) < 0:
            raise InputError(
                f"{place.format(asking[0])}: no fact has the entity {ASKED!r}; queries are for "
                f"{PREFIX}/rank"
            )
        return [named_atom(served.model, row, None, served.entity_names) for row in rows]


def answered(endpoint: Endpoint, visit: Visit) -> PageAnswer:
    """The answer of an endpoint to a visit; mistakes in it get an error with their status."""
    try:
        body = _checked(endpoint, visit.query.get(BODY, ""))
        with warnings.catch_warnings():
            # a client reads answers, not this process's warnings
            warnings.simplefilter("ignore", HornbeamWarning)
            return json_answer(endpoint.answer(body))
    except UnknownNameError as error:
        return error_answer(404, str(error))
    except InputError as error:
        return error_answer(400, str(error))
    except RecursionError:  # of what reads JSON: no answer is as deep
        return error_answer(400, "the body is nested too deeply")


def error_answer(status: int, message: str) -> PageAnswer:
    """An error as all errors of the service are."""
    return json_answer({"error": {"status": status, "message": message}}, status)


def _checked(endpoint: Endpoint, text: str) -> Values:
    """The body of a request, by the schema of its endpoint."""
    if endpoint.method != "POST":
        return {}
    try:
        body = json.loads(text)
        json.dumps(body, ensure_ascii=False).encode()  # half a pair of surrogates is no text
    except ValueError as error:
        raise InputError(f"the body is not JSON: {error}") from None
    mistake = best_match(_VALIDATORS[endpoint.path].iter_errors(body))
    if mistake is not None:
        place = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in mistake.absolute_path)
        text = mistake.message[:300]
        if mistake.validator in ("minItems", "maxItems"):  # the message would have all entries
            bound = "at least" if mistake.validator == "minItems" else "at most"
            text = (
                f"{len(mistake.instance):,} entries; expected {bound} {mistake.validator_value:,}"
            )
        if mistake.validator == "not":
            shown = repr(mistake.instance[:300])
            text = f"{shown} is no name: names hold anything but TAB, CR, LF and NUL"
        raise InputError(f"body{place}: {text}")
    values: Values = body
    return values


def _plain(row: Values) -> Values:
    """A row for JSON, which has no NaN and no numbers of NumPy."""
    plain = {key: value.item() if hasattr(value, "item") else value for key, value in row.items()}
    return {key: None if value != value else value for key, value in plain.items()}


_VALIDATORS = {
    f"{PREFIX}/{name}": Draft202012Validator(schema["request"])
    for name, schema in SCHEMAS.items()
    if "request" in schema
}
