"""Point lookups in the store of an application that is at work: in process, over HTTP on loopback, through a proxy hop.

.venv/bin/python bench/views.py [--seconds N] [--rate N] [--keys N] [--connections N] [--only millstream|kafka-streams]

An application counts per key, exactly once, while a producer writes `--rate` records a second to its topic. The same
client asks for random keys: over one connection for the latencies, over several for the rate. Kafka Streams does the
same in the same run, its store behind the JDK's HTTP server (peers/ViewsPeer.java). The proxy hop is a second instance
that answers for half of the partitions; it is asked through the first. Writes bench/out/views.json.

Rates depend on what else the machine does, so it is told beside them what a lookup costs: CPU time of the processes
that answer, beyond what they take while nobody asks, and of the client.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from millstream import Consumed, KafkaStreams, Materialized, Serdes, ServerSettings, StreamsBuilder, StreamsConfig
from millstream.jvm.java import find_java
from millstream.kafka.broker import DevBroker
from millstream.server.views.serving import ServedViews
from millstream.topology.topology import Topology

BENCH = Path(__file__).parent
sys.path.insert(0, str(BENCH))

from data import create_topics  # noqa: E402
from peers.build import build  # noqa: E402
from peers.run import JAVA_OPTIONS  # noqa: E402

OUT = BENCH / "out"
PATH = "/stores/counts/keys/"
#: How many different keys a client asks for, again and again.
ASKED = 4096
#: Before each measurement, the same without a clock, so that a JVM has compiled what it runs.
WARM_SECONDS = 5.0


# --- Millstream's side, in processes of its own


def topology(source: str) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream(source, Consumed(Serdes.string, Serdes.string))
    stream.group_by_key().count(materialized=Materialized("counts"))
    return builder.build()


def configuration(arguments: argparse.Namespace) -> StreamsConfig:
    return StreamsConfig(
        application_id=arguments.application_id,
        bootstrap_servers=arguments.bootstrap,
        processing_guarantee="exactly_once_v2",
        num_stream_threads=2,
        state_dir=arguments.state_dir,
    )


def run_application(arguments: argparse.Namespace) -> None:
    """Prints its port when all keys are there; then, for each line of standard input, lookups in process."""
    streams = KafkaStreams(topology(arguments.input), configuration(arguments), server=ServerSettings())
    with streams:
        view: Any = streams.store("counts")
        for number in range(arguments.keys):
            while view.get(f"key-{number}") is None:
                time.sleep(0.02)
        print(str(streams.url).rsplit(":", 1)[1], flush=True)
        for line in sys.stdin:
            print(json.dumps(look_up(view, arguments.keys, float(line))), flush=True)


def run_server(arguments: argparse.Namespace) -> None:
    """A second instance, until standard input ends."""
    served = ServedViews(topology(arguments.input), configuration(arguments), ServerSettings())
    served.start()
    print(served.url.rsplit(":", 1)[1], flush=True)
    sys.stdin.read()
    served.close()


def look_up(view: Any, keys: int, seconds: float) -> dict[str, float]:
    asked, get, clock = random_keys(keys), view.get, time.perf_counter_ns
    nanos: list[int] = []
    start = before = clock()
    end = start + int(seconds * 1e9)
    while before < end:
        for key in asked:
            assert get(key) is not None
            now = clock()
            nanos.append(now - before)
            before = now
    return summary(nanos, (before - start) / 1e9)


def random_keys(keys: int, seed: int = 7) -> list[str]:
    chance = random.Random(seed)
    return [f"key-{chance.randrange(keys)}" for _ in range(ASKED)]


def summary(nanos: list[int], seconds: float) -> dict[str, float]:
    nanos.sort()
    count = len(nanos)
    return {
        "rate": round(count / seconds),
        "p50_us": nanos[count // 2] / 1000,
        "p99_us": nanos[count * 99 // 100] / 1000,
    }


# --- the client, the same for all


def ask(port: int, keys: list[str], seconds: float) -> list[int]:
    """Nanoseconds of each lookup over one connection that is kept."""
    requests = [f"GET {PATH}{key} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode() for key in keys]
    nanos: list[int] = []
    clock = time.perf_counter_ns
    with socket.create_connection(("127.0.0.1", port)) as connected:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = clock() + int(seconds * 1e9)
        while clock() < end:
            for request in requests:
                before = clock()
                connected.sendall(request)
                read_answer(connected)
                nanos.append(clock() - before)
                if clock() > end:
                    break
    return nanos


def read_answer(connected: socket.socket) -> bytes:
    data = connected.recv(65536)
    while (head := data.find(b"\r\n\r\n")) < 0:
        data += connected.recv(65536)
    assert data.startswith(b"HTTP/1.1 200"), data
    low = data[:head].lower()
    at = low.index(b"content-length:") + 15
    stop = low.find(b"\r\n", at)
    length = int(low[at : stop if stop >= 0 else None])
    while len(data) < head + 4 + length:
        data += connected.recv(65536)
    return data[head + 4 :]


def asking(port: int, keys: list[str], seconds: float, connections: int, ready: Any, found: Any) -> None:
    """One process of several connections, which begin when the others are ready, too: its answers and its CPU time."""
    nanos: list[list[int]] = [[] for _ in range(connections)]

    def one(number: int) -> None:
        nanos[number] = ask(port, keys, seconds)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(connections)]
    ready.wait()
    before = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.put((sum(map(len, nanos)), time.process_time() - before))


def over_http(port: int, keys: list[str], seconds: float, connections: int, answering: list[int]) -> dict[str, float]:
    """Latencies of one connection, the rate of several, and what a lookup costs the answering processes."""
    ask(port, keys, WARM_SECONDS)
    alone = summary(ask(port, keys, seconds), seconds)
    context = multiprocessing.get_context("spawn")
    found, ready = context.Queue(), context.Barrier(3)
    half = max(1, connections // 2)
    clients = [context.Process(target=asking, args=(port, keys, seconds, half, ready, found)) for _ in range(2)]
    for client in clients:
        client.start()
    while ready.n_waiting < 2:
        assert all(client.is_alive() for client in clients)
        time.sleep(0.1)
    idle, start = cpu_seconds(answering), time.monotonic()
    time.sleep(seconds)
    idle, idle_seconds = cpu_seconds(answering) - idle, time.monotonic() - start
    used, start = cpu_seconds(answering), time.monotonic()
    ready.wait()
    counts, client_cpu = zip(*(found.get() for _ in clients), strict=True)
    used, used_seconds = cpu_seconds(answering) - used, time.monotonic() - start
    for client in clients:
        client.join()
    count = sum(counts)
    return {
        **alone,
        "rate": round(count / seconds),
        "cpu_us": (used - idle * used_seconds / idle_seconds) / count * 1e6,
        "client_cpu_us": sum(client_cpu) / count * 1e6,
    }


def cpu_seconds(processes: list[int]) -> float:
    """What they have used up to now; 0 where the system does not tell."""
    if not Path("/proc/self/stat").exists():
        return 0.0
    fields = [Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split() for process in processes]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


# --- the run


def write(bootstrap: str, topic: str, keys: int, rate: int, stop: Any) -> None:
    """All keys at once, then so many records a second, if the machine can; says how many it were."""
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 5})
    for number in range(keys):
        producer.produce(topic, b"x", f"key-{number}".encode())
        producer.poll(0)
    chance, step, written = random.Random(3), 0.02, 0
    start = due = time.monotonic()
    while not stop.is_set():
        while len(producer) > rate:
            producer.poll(0.1)
        for _ in range(int(rate * step)):
            producer.produce(topic, b"x", f"key-{chance.randrange(keys)}".encode())
        producer.poll(0)
        written += int(rate * step)
        due += step
        stop.wait(max(0.0, due - time.monotonic()))
    producer.flush(30)
    print(f"{topic}: {written / (time.monotonic() - start):,.0f} records/s were written")


@contextmanager
def process(command: list[str], log: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that prints its port and ends with its standard input."""
    with (
        (OUT / log).open("w") as errors,
        subprocess.Popen(  # noqa: S603 - ours
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as running,
    ):
        try:
            assert running.stdout is not None
            line = running.stdout.readline()
            if not line.strip().isdecimal():
                sys.exit(f"it did not start: {line}{(OUT / log).read_text()[-3000:]}")
            yield running, int(line)
            running.communicate(timeout=120)
        finally:
            running.kill()


def in_process(running: subprocess.Popen[str], seconds: float) -> dict[str, float]:
    assert running.stdin is not None
    assert running.stdout is not None
    found: dict[str, float] = {}
    for span in (WARM_SECONDS, seconds):  # what was compiled in the meantime counts
        running.stdin.write(f"{span}\n")
        running.stdin.flush()
        found = json.loads(running.stdout.readline())
    return found


def get_json(port: int, path: str) -> Any:
    with socket.create_connection(("127.0.0.1", port)) as connected:
        connected.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
        return json.loads(read_answer(connected))


def elsewhere(port: int, keys: list[str]) -> list[str]:
    """The keys that another instance than the one at this port has."""
    me = get_json(port, "/metadata")["instance"]["id"]
    metadata = {key: get_json(port, f"/metadata/stores/counts/keys/{key}")["active"] for key in set(keys)}
    return [key for key in keys if metadata[key] is not None and metadata[key]["id"] != me]


def measure_millstream(common: list[str], arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    command = [sys.executable, str(Path(__file__)), *common, "--application-id", f"views-{time.time_ns()}"]
    states = [tempfile.mkdtemp(prefix="views-state-", dir=OUT) for _ in range(2)]
    keys = random_keys(arguments.keys)
    try:
        with process([*command, "--role", "application", "--state-dir", states[0]], "views.log") as (running, port):
            found = {
                "in process": in_process(running, arguments.seconds),
                "over HTTP": over_http(port, keys, arguments.seconds, arguments.connections, [running.pid]),
            }
            with process([*command, "--role", "server", "--state-dir", states[1]], "views-2.log") as (other, _):
                deadline = time.monotonic() + 120
                while len(far := elsewhere(port, keys)) < ASKED // 4:
                    if time.monotonic() > deadline:
                        sys.exit("the second instance has taken over nothing")
                    time.sleep(1)
                found["through a proxy hop"] = over_http(
                    port, far, arguments.seconds, arguments.connections, [running.pid, other.pid]
                )
        return found
    finally:
        for state in states:
            shutil.rmtree(state, ignore_errors=True)


def measure_kafka_streams(common: list[str], arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    state = tempfile.mkdtemp(prefix="views-state-", dir=OUT)
    command = [find_java(), *JAVA_OPTIONS, "-cp", build(), "ViewsPeer", *common, "--state-dir", state]
    try:
        with process([*command, "--application-id", f"views-peer-{time.time_ns()}"], "views-peer.log") as (
            running,
            port,
        ):
            keys = random_keys(arguments.keys)
            return {
                "in process": in_process(running, arguments.seconds),
                "over HTTP": over_http(port, keys, arguments.seconds, arguments.connections, [running.pid]),
            }
    finally:
        shutil.rmtree(state, ignore_errors=True)


def measure(arguments: argparse.Namespace) -> None:
    OUT.mkdir(exist_ok=True)
    results: dict[str, dict[str, dict[str, float]]] = {}
    with DevBroker() as broker:
        for name, system in (("kafka-streams", measure_kafka_streams), ("millstream", measure_millstream)):
            if arguments.only not in (None, name):
                continue
            topic = f"views-{name}-{time.time_ns()}"
            create_topics(broker.bootstrap_servers, topic)
            context = multiprocessing.get_context("spawn")
            stop = context.Event()
            writer = context.Process(
                target=write, args=(broker.bootstrap_servers, topic, arguments.keys, arguments.rate, stop)
            )
            writer.start()
            try:
                common = ["--bootstrap", broker.bootstrap_servers, "--input", topic, "--keys", str(arguments.keys)]
                results[name] = system(common, arguments)
            finally:
                stop.set()
                writer.join()
    (OUT / "views.json").write_text(json.dumps(results, indent=1))
    print(f"{'':<16}{'':<22}{'lookups/s':>12}{'p50 us':>10}{'p99 us':>10}{'CPU us':>10}{'client':>10}")
    for name, found in results.items():
        for way, numbers in found.items():
            told = f"{name:<16}{way:<22}{numbers['rate']:>12,}{numbers['p50_us']:>10,.1f}{numbers['p99_us']:>10,.1f}"
            if "cpu_us" in numbers:
                told += f"{numbers['cpu_us']:>10,.1f}{numbers['client_cpu_us']:>10,.1f}"
            print(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15, help="how long each measurement takes")
    parser.add_argument("--rate", type=int, default=20_000, help="records written per second in the meantime")
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=8, help="for the rate")
    parser.add_argument("--only", choices=("millstream", "kafka-streams"))
    for name in ("role", "bootstrap", "input", "application-id", "state-dir"):  # of the processes it starts
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    roles = {"application": run_application, "server": run_server, None: measure}
    roles[arguments.role](arguments)


if __name__ == "__main__":
    main()
