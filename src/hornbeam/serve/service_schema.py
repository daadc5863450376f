"""The OpenAPI document of the JSON service, whose schemas also check the requests."""

from __future__ import annotations

from typing import Any

from hornbeam.base.version import __version__

PREFIX = "/api/v1"
#: Maximum numbers of pairs and of queries of one request, and of answers of a query.
MAX_PAIRS, MAX_QUERIES, MAX_TOP = 10_000, 1_000, 1_000
#: Maximum length of a name, and of the body of a request in bytes.
LONGEST_NAME, MAX_BYTES = 4_000, 4_000_000

Schema = dict[str, Any]

_NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_NAME,
    "not": {"pattern": "[\0\t\n\r]"},
}
_NUMBER: Schema = {"type": ["number", "null"]}
_TRIPLE: Schema = {
    "type": "array",
    "items": _NAME,
    "minItems": 1,
    "maxItems": 3,
    "description": "[subject, object] of the model's only target, or [subject, relation, object]; "
    "of a target on one entity [entity] or [entity, relation]. Entities by id.",
}
_QUERY: Schema = {
    "type": "array",
    "items": _NAME,
    "minItems": 3,
    "maxItems": 3,
    "description": '[subject, relation, "?"] or ["?", relation, object].',
}


def is_of_service(path: str) -> bool:
    """Whether programs ask at an address, which then answers in JSON, be it of another version."""
    return f"/{path.lstrip('/')}/".startswith("/api/")


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def _several(items: Schema, most: int | None = None) -> Schema:
    limits = {} if most is None else {"minItems": 1, "maxItems": most}
    return {"type": "array", "items": items, **limits}


_ANSWER = _object({"entity": _NAME, "score": _NUMBER}, {"rank": _NUMBER, "probability": _NUMBER})

#: Summary, request and response of every endpoint, by its name.
SCHEMAS: dict[str, dict[str, Any]] = {
    "predict": {
        "summary": "Score pairs, in their order. A score is null where no rule proposes a triple. "
        "Of `unknown` entities no fact is known: rules do not count for them.",
        "request": _object({"pairs": _several(_TRIPLE, MAX_PAIRS)}),
        "response": _object(
            {
                "scores": _several(
                    _object(
                        {"subject": _NAME, "predicate": _NAME, "score": _NUMBER},
                        {"object": _NAME, "probability": _NUMBER},
                    )
                ),
                "unknown": _several(_NAME),
            }
        ),
    },
    "rank": {
        "summary": "The best new answers of queries.",
        "request": _object(
            {"queries": _several(_QUERY, MAX_QUERIES)},
            {"top": {"type": "integer", "minimum": 1, "maximum": MAX_TOP, "default": 10}},
        ),
        "response": _object(
            {"queries": _several(_object({"query": _QUERY, "answers": _several(_ANSWER)}))}
        ),
    },
    "explain": {
        "summary": "The reasons of a link's score, as the command `explain` gives them in JSON.",
        "request": _object({"link": _TRIPLE}),
        "response": {"type": "object"},
    },
    "model": {
        "summary": "What the model is, and what it answers from.",
        "response": _object(
            {
                "name": {"type": "string"},
                "kind": {"enum": ["Model", "GraphModel"]},
                "targets": _several(_NAME),
                "rules": {"type": "integer"},
                "collective": {"type": "boolean"},
                "facts": {"type": "integer"},
                "entities": {"type": "integer"},
                "version": {"type": "string"},
                "card": {
                    "type": "object",
                    "description": "Where the model comes from, its heaviest rules in words, and "
                    "what it needs, as the command `show` gives them in JSON.",
                },
            }
        ),
    },
    "health": {
        "summary": "Whether the service answers.",
        "response": _object({"status": {"const": "ok"}}),
    },
    "reload": {
        "summary": "Read the model and the facts from their files again. Needs the token. Requests "
        "that run finish with the old ones.",
        "request": {"type": "object"},
        "response": _object({"status": {"const": "reloaded"}}),
    },
}
_ERROR = _object({"error": _object({"status": {"type": "integer"}, "message": {"type": "string"}})})


def openapi() -> Schema:
    """The OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hornbeam", "version": __version__},
        "servers": [{"url": PREFIX}],
        "security": [{}, {"token": []}],
        "paths": {
            f"/{name}": {("post" if "request" in schema else "get"): _operation(name, schema)}
            for name, schema in SCHEMAS.items()
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Error": {"description": "What went wrong.", **_content(_ERROR)}},
        },
    }


def _operation(name: str, schema: dict[str, Any]) -> Schema:
    operation: Schema = {
        "operationId": name,
        "summary": schema["summary"],
        "responses": {
            "200": {"description": schema["summary"], **_content(schema["response"])},
            "default": {"$ref": "#/components/responses/Error"},
        },
    }
    if "request" in schema:
        operation["requestBody"] = {"required": True, **_content(schema["request"])}
    return operation


def _content(schema: Schema) -> Schema:
    return {"content": {"application/json": {"schema": schema}}}
