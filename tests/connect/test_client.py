"""The client of Kafka Connect: what it tries again, what it shows, what it tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.certificates import make_certificate
from tests.conftest import serving
from tests.connect_server import ConnectServer

from millstream.connect.access import ConnectAccess, CredentialsFile
from millstream.connect.client import ConnectClient
from millstream.connect.errors import ConnectRefused, NoConnect
from millstream.errors import ArgumentError
from millstream.jvm.processes import free_port


@pytest.fixture
def client(connect_server: ConnectServer) -> ConnectClient:
    return ConnectClient(ConnectAccess(connect_server.url + "/"))


@pytest.mark.parametrize("status", [409, 500, 503])
def test_tried_again(client: ConnectClient, connect_server: ConnectServer, status: int) -> None:
    connect_server.say("GET /connectors", (status, {"message": "a rebalance"}), (200, ["a"]))
    assert client.names() == ["a"]
    assert len(connect_server.asked) == 2


def test_three_times_and_no_more(client: ConnectClient, connect_server: ConnectServer) -> None:
    connect_server.say("GET /connectors", (500, {"message": "again"}))
    with pytest.raises(ConnectRefused) as caught:
        client.names()
    assert (caught.value.status, caught.value.body) == (500, '{"message": "again"}')
    assert len(connect_server.asked) == 3


def test_what_is_wrong_stays_wrong(client: ConnectClient, connect_server: ConnectServer) -> None:
    with pytest.raises(ConnectRefused, match="404"):
        client.info("c")
    assert len(connect_server.asked) == 1


def test_names_in_paths(client: ConnectClient, connect_server: ConnectServer) -> None:
    connect_server.say("DELETE /connectors/a%2Fb%20%3F", (204, None))
    client.delete("a/b ?")
    assert [asked.what for asked in connect_server.asked] == ["DELETE /connectors/a%2Fb%20%3F"]


def test_a_path_of_the_url_is_kept(connect_server: ConnectServer) -> None:
    connect_server.say("GET /eu/connectors", (200, []))
    assert ConnectClient(ConnectAccess(connect_server.url + "/eu")).names() == []


def test_nothing_answers() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(NoConnect, match=f"does not answer at {url}") as caught:
        ConnectClient(ConnectAccess(url)).names()
    assert "millstream connect start" in str(caught.value.hint)


def test_something_else_answers(client: ConnectClient, connect_server: ConnectServer) -> None:
    connect_server.say("GET /connectors", (200, {"not": "a list"}))
    with pytest.raises(NoConnect, match="is not Kafka Connect"):
        client.names()


def test_credentials(connect_server: ConnectServer, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    connect_server.say("GET /connectors", (200, []))
    with pytest.raises(ArgumentError, match="cannot read the credentials"):
        ConnectClient(ConnectAccess(connect_server.url, CredentialsFile(file))).names()
    file.write_text("username=ann\n")
    with pytest.raises(ArgumentError, match="has no credentials"):
        ConnectClient(ConnectAccess(connect_server.url, CredentialsFile(file))).names()
    file.write_text("username=ann\npassword = x=y\n")
    once, always = (
        ConnectClient(ConnectAccess(connect_server.url, CredentialsFile(file, reload))) for reload in (False, True)
    )
    once.names(), always.names()
    file.write_text("username=ann\npassword=new\n")
    once.names(), always.names()
    before, after = "Basic YW5uOng9eQ==", "Basic YW5uOm5ldw=="
    assert [asked.authorization for asked in connect_server.asked] == [before, before, before, after]


def test_tls(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path, has_address=False)
    server = ConnectServer()
    server.say("GET /connectors", (200, ["c"]))
    by_name, by_number = (f"https://{host}:{server.server_port}" for host in ("localhost", "127.0.0.1"))
    with serving(server, (certificate, key)):
        assert ConnectClient(ConnectAccess(by_name, authorities=certificate)).names() == ["c"]
        assert ConnectClient(ConnectAccess(by_number, authorities=certificate, checks_name=False)).names() == ["c"]
        for access in (ConnectAccess(by_name), ConnectAccess(by_number, authorities=certificate)):
            with pytest.raises(NoConnect) as caught:
                ConnectClient(access).names()
            assert "CERTIFICATE_VERIFY_FAILED" in str(caught.value.detail)
    with pytest.raises(ArgumentError, match="cannot be read"):
        ConnectClient(ConnectAccess(by_name, authorities=tmp_path / "missing.pem"))
