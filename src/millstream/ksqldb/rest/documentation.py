"""What the API is, as OpenAPI."""

from __future__ import annotations

from typing import Any

from millstream.ksqldb.rest.negotiation import DELIMITED, JSON, PROTOBUF, V1

Json = dict[str, Any]

_OBJECT: Json = {"type": "object"}
_TEXT: Json = {"type": "string", "minLength": 1}
_PROPERTIES: Json = {"type": ["object", "null"], "additionalProperties": True}
_SEQUENCE_NUMBER: Json = {"type": ["integer", "null"], "format": "int64", "minimum": -(2**63), "maximum": 2**63 - 1}


def description(version: str) -> Json:
    """The OpenAPI description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Millstream's ksqlDB service",
            "version": version,
            "description": "ksqlDB's REST protocol. Rows of queries are streamed: the header Accept chooses how.",
        },
        "paths": _paths(),
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {
                "user": {"type": "http", "scheme": "basic"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _paths() -> Json:
    rows = {media_type: {"schema": True} for media_type in (DELIMITED, JSON, V1, PROTOBUF)}
    acknowledgements = {media_type: {"schema": True} for media_type in (DELIMITED, JSON)}
    return {
        "/ksql": _post("Execute statements", _body("Statements"), _json(_list("Entity"))),
        "/query": _post("Answer a SELECT or PRINT, the older way", _body("Statements"), {**rows, "text/plain": {}}),
        "/query-stream": _post("Answer a SELECT or PRINT", _body("Query"), rows),
        "/close-query": _post("End a push query", _body("CloseQuery"), {}),
        "/inserts-stream": _post(
            "Insert rows, over HTTP/2 only: a line for the target, then one per row",
            {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}},
            acknowledgements,
        ),
        "/ksql/terminate": _post("End the service for good", _body("Terminate"), _json(_list("Entity"))),
        "/": {"get": _operation("Where the server is described", {}, status="307")},
        "/info": _get("What the server is", _ref("Info")),
        "/healthcheck": _get("How the server is", _ref("Health")),
        "/status": _get("The status of every command", _ref("Statuses")),
        "/status/{type}/{entity}/{action}": _get("How a command went", _ref("Status"), "type", "entity", "action"),
        "/is_valid_property/{name}": _get("Whether clients may set a property", {"const": True}, "name"),
        "/v1/metadata": _get("Version and cluster", _OBJECT),
        "/v1/metadata/id": _get("Cluster", _OBJECT),
        "/chc/ready": _get("Whether it answers", _OBJECT),
        "/chc/live": _get("Whether it answers", _OBJECT),
        "/metrics": {"get": _operation("For Prometheus", {"text/plain": {"schema": {"type": "string"}}})},
    }


def _get(summary: str, schema: Json, *parameters: str) -> Json:
    operation = _operation(summary, _json(schema))
    if parameters:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": _TEXT} for name in parameters
        ]
    return {"get": operation}


def _post(summary: str, body: Json, content: Json) -> Json:
    return {"post": {**_operation(summary, content), "requestBody": body}}


def _operation(summary: str, content: Json, status: str = "200") -> Json:
    # Most refusals do not say what their bodies are, as ksqlDB's do not; so no content is promised.
    refused = {"description": "Refused; the body is an `Error`, or nothing"}
    return {
        "summary": summary,
        "responses": {
            status: {"description": "Answered", "content": content} if content else {"description": "Done"},
            "4XX": refused,
            "5XX": refused,
        },
    }


def _body(schema: str) -> Json:
    return {"required": True, "content": {JSON: {"schema": _ref(schema)}}}


def _json(schema: Json) -> Json:
    return {JSON: {"schema": schema}}


def _list(schema: str) -> Json:
    return {"type": "array", "items": _ref(schema)}


def _ref(schema: str) -> Json:
    return {"$ref": f"#/components/schemas/{schema}"}


def _record(required: Json, optional: Json | None = None) -> Json:
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}}


_PLAIN: Json = {"type": "string"}
_SCHEMAS: Json = {
    "Statements": _record(
        {"ksql": _TEXT},
        {
            "streamsProperties": _PROPERTIES,
            "sessionVariables": _PROPERTIES,
            "commandSequenceNumber": _SEQUENCE_NUMBER,
            "requestProperties": _PROPERTIES,
        },
    ),
    "Query": _record(
        {"sql": _TEXT},
        {"properties": _PROPERTIES, "sessionVariables": _PROPERTIES, "requestProperties": _PROPERTIES},
    ),
    "CloseQuery": _record({"queryId": _PLAIN}),
    "Terminate": _record({}, {"deleteTopicList": {"type": ["array", "null"], "items": _PLAIN}}),
    "Entity": _record({"@type": _PLAIN, "statementText": _PLAIN, "warnings": {"type": "array", "items": _OBJECT}}),
    "Info": _record(
        {
            "KsqlServerInfo": _record(
                {name: _PLAIN for name in ("version", "kafkaClusterId", "ksqlServiceId", "serverStatus")}
            )
        }
    ),
    "Health": _record({"isHealthy": {"type": "boolean"}, "details": _OBJECT, "serverState": _PLAIN}),
    "Statuses": _record({"commandStatuses": {"type": "object", "additionalProperties": _PLAIN}}),
    "Status": _record({"status": _PLAIN, "message": _PLAIN, "queryId": {"type": ["string", "null"]}}),
    "Error": _record(
        {"@type": _PLAIN, "error_code": {"type": "integer"}, "message": _PLAIN},
        {"statementText": _PLAIN, "entities": {"type": "array"}},
    ),
}
