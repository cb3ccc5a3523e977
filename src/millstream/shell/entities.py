"""What statements answer, as tables and lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from millstream.shell.rows import harmless

Content = Mapping[str, Any]


def shown_entity(content: Content) -> list[RenderableType]:
    """An answer, for people."""
    content = _harmless(content)
    found = _SHOWN.get(content.get("@type", ""), _anything)(content)
    found += [Text(f"WARNING: {warning.get('message', '')}", "yellow") for warning in content.get("warnings") or ()]
    return found


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return harmless(value, lines=True)
    if isinstance(value, list):
        return [_harmless(item) for item in value]
    return {_harmless(name): _harmless(item) for name, item in value.items()} if isinstance(value, dict) else value


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*(Text(_text(value)) for value in row))
    return table


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _line(name: str, value: Any) -> Text:
    return Text.assemble((f"{name:<18}", "bold"), ": ", _text(value))


def _status(content: Content) -> list[RenderableType]:
    return [Text(content["commandStatus"]["message"])]


def _message(content: Content) -> list[RenderableType]:
    return [Text(content["message"])]


def _sources(kind: str) -> Callable[[Content], list[RenderableType]]:
    def show(content: Content) -> list[RenderableType]:
        rows = [
            (source["name"], source["topic"], source["keyFormat"], source["valueFormat"], source["isWindowed"])
            for source in content[f"{kind.lower()}s"]
        ]
        return [_table((f"{kind} Name", "Kafka Topic", "Key Format", "Value Format", "Windowed"), rows)]

    return show


def _topics(content: Content) -> list[RenderableType]:
    names = ["Kafka Topic", "Partitions", "Partition Replicas"]
    rows = []
    is_extended = content["@type"] == "kafka_topics_extended"
    for topic in content["topics"]:
        replicas = topic["replicaInfo"]
        shown = str(replicas[0]) if replicas and len(set(replicas)) == 1 else ", ".join(map(str, replicas))
        more = [topic["consumerCount"], topic["consumerGroupCount"]] if is_extended else []
        rows.append([topic["name"], len(replicas), shown, *more])
    return [_table([*names, "Consumers", "Consumer Groups"] if is_extended else names, rows)]


def _queries(content: Content) -> list[RenderableType]:
    return [_query_table(content["queries"])]


def _query_table(queries: Iterable[Content]) -> Table:
    rows = [
        (
            query["id"],
            query["queryType"],
            _counts(query.get("statusCount") or {}) or query.get("state"),
            ", ".join(query["sinks"]),
            ", ".join(query["sinkKafkaTopics"]),
            " ".join(query["queryString"].split()),
        )
        for query in queries
    ]
    return _table(("Query ID", "Query Type", "Status", "Sink Name", "Sink Kafka Topic", "Query String"), rows)


def _counts(counts: Mapping[str, int]) -> str:
    return ",".join(f"{name}:{count}" for name, count in counts.items())


def _properties(content: Content) -> list[RenderableType]:
    overwritten = set(content.get("overwrittenProperties") or ())
    rows = [
        (each["name"], each["scope"], "SESSION" if each["name"] in overwritten else "", each["value"])
        for each in content["properties"]
    ]
    return [_table(("Property", "Scope", "Override", "Effective Value"), rows)]


def _functions(content: Content) -> list[RenderableType]:
    rows = sorted((each["name"], each["type"], each.get("category")) for each in content["functions"])
    return [_table(("Function Name", "Type", "Category"), rows)]


def _function(content: Content) -> list[RenderableType]:
    found: list[RenderableType] = [
        _line(name, content.get(field))
        for name, field in (("Name", "name"), ("Author", "author"), ("Type", "type"), ("Overview", "description"))
    ]
    found.append(Text("Variations        :", "bold"))
    for variant in content["functions"]:
        arguments = ", ".join(
            f"{each['name']} {each['type']}{'...' if each.get('isVariadic') else ''}".strip()
            for each in variant["arguments"]
        )
        found.append(Text(f"  {content['name']}({arguments}) returns {variant['returnType']}"))
        told = [(None, variant.get("description"))]
        told += [(each["name"], each.get("description")) for each in variant["arguments"]]
        found += [Text(f"    {text if name is None else f'{name}: {text}'}", "dim") for name, text in told if text]
    return found


def _types(content: Content) -> list[RenderableType]:
    return [_table(("Type Name", "Schema"), ((name, type_text(schema)) for name, schema in content["types"].items()))]


def _variables(content: Content) -> list[RenderableType]:
    return [_table(("Variable Name", "Value"), ((each["name"], each["value"]) for each in content["variables"]))]


def type_text(schema: Content) -> str:
    """A type, as it is written.

    >>> type_text({"type": "ARRAY", "memberSchema": {"type": "DECIMAL", "parameters": {"precision": 4, "scale": 2}}})
    'ARRAY<DECIMAL(4, 2)>'
    """
    kind, parameters = schema["type"], schema.get("parameters") or {}
    if kind == "ARRAY":
        return f"ARRAY<{type_text(schema['memberSchema'])}>"
    if kind == "MAP":
        return f"MAP<STRING, {type_text(schema['memberSchema'])}>"
    if kind == "STRUCT":
        fields = (f"`{field['name']}` {type_text(field['schema'])}" for field in schema["fields"])
        return f"STRUCT<{', '.join(fields)}>"
    if kind == "DECIMAL" and parameters:
        return f"DECIMAL({parameters['precision']}, {parameters['scale']})"
    return str(kind)


def _fields(fields: Iterable[Content], *, is_table: bool) -> Table:
    key = "primary key" if is_table else "key"
    rows = []
    for field in fields:
        role = {"KEY": key, "HEADER": "headers"}.get(field.get("type") or "")
        if field.get("headerKey"):
            role = f"header('{field['headerKey']}')"
        rows.append((field["name"], type_text(field["schema"]) + (f" ({role})" if role else "")))
    return _table(("Field", "Type"), rows)


def _source(content: Content) -> list[RenderableType]:
    return _described_source(content["sourceDescription"])


def _source_list(content: Content) -> list[RenderableType]:
    return [part for each in content["sourceDescriptions"] for part in (*_described_source(each), "")]


def _described_source(source: Content) -> list[RenderableType]:
    is_table = source["type"] == "TABLE"
    found: list[RenderableType] = [_line("Name", source["name"])]
    if source["extended"]:
        told = (
            ("Type", source["type"]),
            ("Window Type", source.get("windowType")),
            ("Timestamp field", source.get("timestamp")),
            ("Key format", source["keyFormat"]),
            ("Value format", source["valueFormat"]),
            (
                "Kafka topic",
                f"{source['topic']} (partitions: {source['partitions']}, replication: {source['replication']})",
            ),
            ("Statement", source.get("statement")),
        )
        found += [_line(name, value) for name, value in told if value]
    found += ["", _fields(source["fields"], is_table=is_table)]
    if not source["extended"]:
        return found
    for title, field in (
        ("Queries that read from this", "readQueries"),
        ("Queries that write to this", "writeQueries"),
    ):
        if source.get(field):
            found += ["", Text(title, "bold"), _query_table(source[field])]
    for title, field in (("Statistics", "statistics"), ("Errors", "errorStats")):
        if source.get(field):
            found += ["", Text(title, "bold"), Text(str(source[field]))]
    for title, field in (
        ("Consumer groups", "queryOffsetSummaries"),
        ("Statistics by server", "clusterStatistics"),
        ("Errors by server", "clusterErrorStats"),
    ):
        found += _section(title, source.get(field) or ())
    return found


def _section(title: str, rows: Sequence[Content]) -> list[RenderableType]:
    if not rows:
        return []
    names = list(dict.fromkeys(name for row in rows for name in row))
    return ["", Text(title, "bold"), _table(names, ([row.get(name) for name in names] for row in rows))]


def _query(content: Content) -> list[RenderableType]:
    return _described_query(content["queryDescription"])


def _query_list(content: Content) -> list[RenderableType]:
    return [part for each in content["queryDescriptions"] for part in (*_described_query(each), "")]


def _described_query(query: Content) -> list[RenderableType]:
    told = (
        ("ID", query["id"]),
        ("Query Type", query.get("queryType")),
        ("SQL", query.get("statementText")),
        ("Window Type", query.get("windowType")),
        ("Status", query.get("state")),
        ("Host Query Status", query.get("ksqlHostQueryStatus") or None),
        ("Consumer Group", query.get("consumerGroupId")),
        ("Sources", ", ".join(query["sources"])),
        ("Sinks", ", ".join(query["sinks"])),
    )
    found: list[RenderableType] = [_line(name, value) for name, value in told if value]
    if query["fields"]:
        found += ["", _fields(query["fields"], is_table=False)]
    for title, field in (("Execution plan", "executionPlan"), ("Processing topology", "topology")):
        if query.get(field):
            found += ["", Text(title, "bold"), Text(str(query[field]))]
    overridden = query.get("overriddenProperties") or {}
    if overridden:
        found += ["", _table(("Overridden Property", "Value"), overridden.items())]
    for error in query.get("queryErrors") or ():
        found.append(Text(_text(error["errorMessage"]), "red"))
    return found


def _terminated(content: Content) -> list[RenderableType]:
    return [Text("Query terminated." if content["wasTerminated"] else f"There is no query {content['queryId']}.")]


def _asserted_topic(content: Content) -> list[RenderableType]:
    return [Text(f"Topic {content['topicName']} {_existence(content)}.")]


def _asserted_schema(content: Content) -> list[RenderableType]:
    parts = (("subject name", content.get("subject")), ("id", content.get("id")))
    named = " ".join(f"{name} {value}" for name, value in parts if value is not None)
    return [Text(f"Schema with {named} {_existence(content)}.")]


def _existence(content: Content) -> str:
    return "exists" if content["exists"] else "does not exist"


def _connectors(content: Content) -> list[RenderableType]:
    rows = [(each["name"], each["type"], each.get("className"), each.get("state")) for each in content["connectors"]]
    return [_table(("Connector Name", "Type", "Class", "Status"), rows)]


def _connector(content: Content) -> list[RenderableType]:
    status = content["status"]
    itself = status["connector"]
    told = (
        ("Name", status["name"]),
        ("Class", content["connectorClass"]),
        ("Type", status.get("type")),
        ("State", itself["state"]),
        ("WorkerId", itself["worker_id"]),
        ("Trace", itself.get("trace")),
    )
    found: list[RenderableType] = [_line(name, value) for name, value in told if value]
    if status["tasks"]:
        rows = [(task["id"], task["state"], task.get("trace")) for task in status["tasks"]]
        found += ["", _table(("Task ID", "State", "Error Trace"), rows)]
    if content["sources"]:
        rows = [(source["name"], source["topic"], source["type"]) for source in content["sources"]]
        found += ["", _table(("KSQL Source Name", "Kafka Topic", "Type"), rows)]
    if content["topics"]:
        found += ["", _table(("Related Topics",), ((topic,) for topic in content["topics"]))]
    return found


def _plugins(content: Content) -> list[RenderableType]:
    rows = [(each["className"], each.get("type"), each.get("version")) for each in content["connectorsPlugins"]]
    return [_table(("Class", "Type", "Version"), rows)]


def _connector_made(content: Content) -> list[RenderableType]:
    return [Text(f"Created connector {content['info']['name']}")]


def _connector_dropped(content: Content) -> list[RenderableType]:
    return [Text(f'Dropped connector "{content["connectorName"]}"')]


def _anything(content: Content) -> list[RenderableType]:
    """An answer of a kind that is not known here: name by name."""
    found: list[RenderableType] = []
    for name, value in content.items():
        if name in ("@type", "statementText", "warnings") or value in (None, "", [], {}):
            continue
        if isinstance(value, list) and isinstance(value[0], dict):
            found += _section(name, value)
        else:
            found.append(_line(name, value))
    return found


_SHOWN: Mapping[str, Callable[[Content], list[RenderableType]]] = {
    "currentStatus": _status,
    "warning_entity": _message,
    "streams": _sources("Stream"),
    "tables": _sources("Table"),
    "kafka_topics": _topics,
    "kafka_topics_extended": _topics,
    "queries": _queries,
    "properties": _properties,
    "function_names": _functions,
    "describe_function": _function,
    "type_list": _types,
    "variables": _variables,
    "sourceDescription": _source,
    "source_descriptions": _source_list,
    "queryDescription": _query,
    "query_descriptions": _query_list,
    "terminate_query": _terminated,
    "assert_topic": _asserted_topic,
    "assert_schema": _asserted_schema,
    "connector_list": _connectors,
    "connector_description": _connector,
    "connector_plugins_list": _plugins,
    "connector_info": _connector_made,
    "drop_connector": _connector_dropped,
}
