"""What the HTTP of views is: as OpenAPI for programs, and as a page for people that asks nobody for anything."""

from __future__ import annotations

from html import escape
from importlib.metadata import version
from typing import Any

from millstream.server.settings import ServerSettings

Json = dict[str, Any]


def description(settings: ServerSettings) -> Json:
    """The OpenAPI description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Millstream views",
            "version": version("millstream"),
            "description": "The state of a running application. Keys in paths and parameters are text for string keys, "
            "decimal for numbers, base64 for bytes, and JSON for all others. Times are milliseconds since 1970, or "
            "ISO 8601.",
        },
        "security": [{"token": []}] if settings.tokens else [],
        "paths": _paths(settings),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _SCHEMAS,
        },
    }


def page(described: Json) -> str:
    """The description as one HTML page."""
    parts = [f"<h1>{escape(described['info']['title'])}</h1><p>{escape(described['info']['description'])}</p>"]
    for path, methods in described["paths"].items():
        operation = methods["get"]
        rows = "".join(
            f"<tr><td><code>{escape(each['name'])}</code></td><td>{each['in']}</td><td>{escape(each['description'])}</td></tr>"
            for each in operation.get("parameters", ())
        )
        answers = "".join(
            f"<tr><td><code>{status}</code></td><td></td><td>{escape(answer['description'])}</td></tr>"
            for status, answer in operation["responses"].items()
        )
        parts.append(
            f"<details><summary><code>GET {escape(path)}</code> {escape(operation['summary'])}</summary>"
            f"<table>{rows}{answers}</table></details>"
        )
    parts.append(
        "<h2>Errors</h2><p>Every error is JSON: <code>status</code>, <code>kind</code>, <code>primary</code> (what is "
        "wrong), <code>detail</code> (where, what was seen) and <code>hint</code> (what to do). 503 comes with "
        "<code>Retry-After</code>: ask again. The description for programs is <a href='/openapi.json'>"
        "openapi.json</a>.</p>"
    )
    head = f"<head><meta charset='utf-8'><title>Millstream views</title>{_STYLE}</head>"
    return f"<!doctype html><html lang='en'>{head}<body>{''.join(parts)}</body></html>"


_STYLE = """<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1b1b1b; background: #fff }
summary { cursor: pointer; padding: .4rem 0; border-bottom: 1px solid #ddd }
table { margin: .5rem 0 1rem 1.5rem; border-spacing: 0 }
td { padding: .15rem 1.2rem .15rem 0; vertical-align: top }
code { font-family: ui-monospace, monospace; font-size: .92em }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #16181c } summary { border-color: #333 }
       a { color: #8ab4f8 } }
</style>"""


def _parameter(name: str, text: str, schema: Json, *, of_path: bool = False) -> Json:
    return {
        "name": name,
        "in": "path" if of_path else "query",
        "required": of_path,
        "description": text,
        "schema": schema,
    }


_TEXT: Json = {"type": "string"}
_FLAG: Json = {"type": "boolean", "default": False}
_STORE = _parameter("store", "the name of the store", _TEXT, of_path=True)
_KEY = _parameter("key", "the key", _TEXT, of_path=True)
_REVERSE = _parameter("reverse", "the last first", _FLAG)
_REQUIREMENTS = [
    _parameter(
        "min_position",
        "the answer must be at least as new: the `position` of another answer, as JSON (header Min-Position)",
        _TEXT,
    ),
    _parameter(
        "max_staleness",
        "the answer must not be older: milliseconds, or 250ms, 2s, 5m (header Max-Staleness)",
        _TEXT,
    ),
    _parameter("standby", "a copy in reserve may answer, too (header Standby)", _FLAG),
    _parameter("partitions", "ask only these partitions: 0,3,7", _TEXT),
]
_LIMIT = _parameter(
    "limit", "only the first so many rows; `more` tells whether there are others", {"type": "integer", "minimum": 1}
)
_TIMES = [
    _parameter("from", "the earliest time", _TEXT),
    _parameter("to", "the latest time", _TEXT),
]
_KEY_BOUNDS = [
    _parameter("from_key", "the lowest key", _TEXT),
    _parameter("to_key", "the highest key", _TEXT),
]


def _paths(settings: ServerSettings) -> Json:
    rows = f"rows; at most {settings.max_rows}, without end as application/x-ndjson"
    scan = [_REVERSE, _LIMIT, *_REQUIREMENTS]
    return {
        "/stores": _get("the stores that can be asked", "stores", [], _object()),
        "/stores/{store}": _get("what a store is", "a store", [_STORE], _object()),
        "/stores/{store}/keys/{key}": _get(
            "the value of a key",
            "the value",
            [_STORE, _KEY, _parameter("as_of", "what was valid then; versioned stores", _TEXT), *_REQUIREMENTS],
            _reference("Value"),
        ),
        "/stores/{store}/keys": _get(
            "several keys, a range, a prefix, or everything; key-value stores",
            rows,
            [
                _STORE,
                _parameter("key", "a key; may come several times", {"type": "array", "items": _TEXT}),
                _parameter("from", "the lowest key", _TEXT),
                _parameter("to", "the highest key", _TEXT),
                _parameter("prefix", "what keys begin with; strings and bytes", _TEXT),
                *scan,
            ],
            _reference("Rows"),
        ),
        "/stores/{store}/count": _get(
            "how many entries there are, about", "the number", [_STORE, *_REQUIREMENTS], _object()
        ),
        "/stores/{store}/windows/{key}": _get(
            "a key's windows that start between two times", rows, [_STORE, _KEY, *_TIMES, *scan], _reference("Rows")
        ),
        "/stores/{store}/windows": _get(
            "the windows of several keys, or of all", rows, [_STORE, *_TIMES, *_KEY_BOUNDS, *scan], _reference("Rows")
        ),
        "/stores/{store}/sessions/{key}": _get(
            "a key's sessions that end not before `from` and start not after `to`",
            rows,
            [_STORE, _KEY, *_TIMES, *scan],
            _reference("Rows"),
        ),
        "/stores/{store}/sessions": _get(
            "the sessions of several keys, or of all", rows, [_STORE, *_KEY_BOUNDS, *scan], _reference("Rows")
        ),
        "/stores/{store}/versions/{key}": _get(
            "a key's versions that were valid between two times; versioned stores",
            rows,
            [_STORE, _KEY, *_TIMES, *scan],
            _reference("Rows"),
        ),
        "/metadata": _get("the application, this instance, and all that are alive", "instances", [], _object()),
        "/metadata/lags": _get(
            "how far the copies of this instance are behind", "by store and partition", [], _object()
        ),
        "/metadata/instances/{instance}": _get(
            "what an instance has", "by store", [_parameter("instance", "its name", _TEXT, of_path=True)], _object()
        ),
        "/metadata/stores/{store}": _get("which instances have what of a store", "instances", [_STORE], _object()),
        "/metadata/stores/{store}/keys/{key}": _get("which instance has a key", "instances", [_STORE, _KEY], _object()),
        "/health": _get("whether the server is up; needs no token", "it is", [], _object(), is_open=True),
        "/health/ready": _get(
            "whether every partition can be asked; needs no token", "it can", [], _object(), is_open=True
        ),
    }


def _get(summary: str, answer: str, parameters: list[Json], schema: Json, *, is_open: bool = False) -> Json:
    problem = {"application/json": {"schema": _reference("Problem")}}
    operation: Json = {
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": answer, "content": {"application/json": {"schema": schema}}},
            "400": {"description": "the request makes no sense for this store", "content": problem},
            "401": {"description": "the token is missing or wrong", "content": problem},
            "404": {"description": "there is no such store, key or instance", "content": problem},
            "413": {"description": "more rows than one answer may have", "content": problem},
            "503": {"description": "not now: copies are being read or on the move; try again", "content": problem},
        },
    }
    if is_open:
        operation["security"] = []
    return {"get": operation}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: Json | None = None, required: tuple[str, ...] = ()) -> Json:
    return {"type": "object", "properties": properties or {}, "required": list(required)}


_NUMBER: Json = {"type": "integer"}
_ROW: Json = {
    "key": {"description": "as the store's serde has it"},
    "value": {"description": "as the store's serde has it"},
    "timestamp": {"type": "integer", "description": "the time the value is valid from"},
    "window": _object({"start": _NUMBER, "end": _NUMBER}, ("start", "end")),
    "valid_to": {"type": "integer", "description": "the time another version is valid from"},
}
_STANDING: Json = {
    "position": {
        "description": "by topic and partition, the offset of the next record to be applied",
        "type": "object",
        "additionalProperties": {"type": "object", "additionalProperties": _NUMBER},
    },
    "lag": {"type": "object", "additionalProperties": _reference("Lag")},
    "answered_by": {
        "type": "object",
        "additionalProperties": _object({"instance": _TEXT, "standby": {"type": "boolean"}}),
    },
}
_SCHEMAS: Json = {
    "Row": _object(_ROW, ("key", "value")),
    "Value": _object({"store": _TEXT, **_ROW, **_STANDING}, ("store", "key", "value", *_STANDING)),
    "Rows": _object(
        {
            "store": _TEXT,
            "rows": {"type": "array", "items": _reference("Row")},
            "more": {"type": "boolean"},
            **_STANDING,
        },
        ("store", "rows", "more", *_STANDING),
    ),
    "Lag": _object(
        {"records": _NUMBER, "position": _NUMBER, "end": _NUMBER, "stale_ms": {"type": ["integer", "null"]}},
        ("records", "position", "end", "stale_ms"),
    ),
    "Problem": _object(
        {
            "status": _NUMBER,
            "kind": _TEXT,
            "primary": _TEXT,
            "detail": {"type": ["string", "null"]},
            "hint": {"type": ["string", "null"]},
        },
        ("status", "kind", "primary", "detail", "hint"),
    ),
}
