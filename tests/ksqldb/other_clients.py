"""Clients that others have written, as programs that drive a server and say what they saw.

Each creates, inserts, pulls, pushes and closes. What cannot work with any correct server is left out: `query_stream`
and `close_query` of PyPI's ksqldb-client read answers that ksqlDB does not give.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NODE_CLIENT = "ksqldb-client@1.0.5"


def drive_ksqldb(url: str, name: str, pull: str, *statements: str) -> dict[str, Any]:
    """What PyPI's ksqldb sees.

    Args:
        url: where the server is.
        name: of a stream that the statements create, with an INT key `id` and a STRING `name`.
        pull: a query that is asked until it has an answer.
        statements: executed first.
    """
    pytest.importorskip("ksqldb", reason="the package ksqldb is not installed")
    # In a process of its own: it leaves connections open.
    return _said([sys.executable, "-c", _PYTHON, url, name, pull, *statements])


def drive_node(folder: Path, url: str, name: str, pull: str, *statements: str) -> dict[str, Any]:
    """What npm's ksqldb-client, installed into a folder, sees; arguments as above."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("there is no Node.js here")
    install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), NODE_CLIENT]
    installed = subprocess.run(install, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603 - ours
    if installed.returncode != 0:
        pytest.skip(f"{NODE_CLIENT} cannot be installed: {installed.stderr.strip()[-200:]}")
    script = folder / "drive.js"
    script.write_text(_NODE)
    return _said([node, str(script), url.rpartition(":")[2], name, pull, *statements])


def _said(command: list[str]) -> dict[str, Any]:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603 - ours
    assert ran.returncode == 0, ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout)
    return said


_PYTHON = """
import asyncio, json, sys, time
from ksqldb import KSQLdbClient

url, name, pull, *statements = sys.argv[1:]
client, said = KSQLdbClient(url), {}
earliest = {"auto.offset.reset": "earliest"}
said["created"] = [client.ksql(sql, earliest)[0]["commandStatus"]["status"] for sql in statements]
said["inserted"] = client.ksql(f"INSERT INTO {name} (id, name) VALUES (1, 'a');")
said["properties"] = len(client.get_properties())
for _ in range(300):
    said["pulled"] = client.query_sync(pull)[1:]
    if said["pulled"]:
        break
    time.sleep(0.1)
said["acks"] = client.inserts_stream(name, [{"id": 2, "name": "b"}, {"id": 3, "name": "c"}])

async def push():
    found = []
    async for row in client.query_async(f"SELECT * FROM {name} EMIT CHANGES;", earliest, timeout=20):
        found.append(row)
        if len(found) == 4:
            said["closed"] = [client.close_query(found[0]["queryId"]), client.close_query("nothing")]
    return found[1:]

said["pushed"] = asyncio.run(push())
print(json.dumps(said))
"""

_NODE = """
const KsqldbClient = require("ksqldb-client");
(async () => {
    const [port, name, pull, ...statements] = process.argv.slice(2);
    const client = new KsqldbClient({ host: "http://127.0.0.1", port: Number(port) });
    await client.connect();
    const said = {};
    const properties = { properties: { "auto.offset.reset": "earliest" } };
    said.created = [];
    for (const sql of statements) {
        said.created.push((await client.executeStatement(sql, { streamsProperties: properties.properties })).status);
    }
    said.listed = (await client.listStreams()).map((stream) => stream.name).includes(name.toUpperCase());
    said.inserted = (await client.insertInto(name, { id: 1, name: "a" })).data.rows;
    said.refused = (await client.executeStatement("NONSENSE;")).error.error_code;
    for (let tries = 0; tries < 300; tries += 1) {
        said.pulled = (await client.query(pull)).data.rows;
        if (said.pulled.length) {
            break;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    said.pushed = [];
    let closing;
    await client.streamQuery(`SELECT * FROM ${name} EMIT CHANGES;`, async ({ rows, metadata }) => {
        if (!rows) {
            await client.insertInto(name, { id: 2, name: "b" });
            return;
        }
        said.pushed.push(...rows);
        if (said.pushed.length === 2) {
            closing = client.terminatePushQuery(metadata.queryId);
        }
    }, properties);
    said.closed = (await closing).status;
    await client.disconnect();
    console.log(JSON.stringify(said));
})();
"""
