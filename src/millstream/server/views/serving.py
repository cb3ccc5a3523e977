"""The views of an instance with their HTTP: what an application, or `millstream serve`, starts and closes."""

from __future__ import annotations

from collections.abc import Callable

from millstream.config import StreamsConfig
from millstream.server.guard import Application, Surrounding
from millstream.server.listening import Listener
from millstream.server.running import HttpServer
from millstream.server.settings import ServerSettings
from millstream.server.views.app import OPEN_PATHS, ViewsApp
from millstream.server.views.remote import HttpRemote
from millstream.topology.topology import Topology
from millstream.views.answers import Instance
from millstream.views.api import Views
from millstream.views.instance.files import kept_instance_id


class ServedViews:
    """Views that others can ask over HTTP, and that ask others.

    Args:
        topology: the application's topology.
        config: the application's configuration.
        settings: where and how to listen.
        around: puts something around the HTTP of views, such as the console.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        settings: ServerSettings,
        around: Callable[[Application, Views], Surrounding] | None = None,
    ) -> None:
        self._listener = Listener(settings)
        try:
            self._remote = HttpRemote(config.application_id, settings)
            instance = Instance(kept_instance_id(config), self._listener.host, self._listener.port)
            #: The views themselves.
            self.views = Views(topology, config, instance=instance, remote=self._remote)
            self._app = ViewsApp(self.views, config.application_id, settings)
            self._around = None if around is None else around(self._app, self.views)
            at_once = self._app.at_once
            if self._around is None:
                self._server = HttpServer(self._app, self._listener, settings, OPEN_PATHS, at_once=at_once)
            else:
                open_paths = (*OPEN_PATHS, *self._around.open_paths)
                self._server = HttpServer(self._around, self._listener, settings, open_paths, at_once=at_once)
        except BaseException:
            self._listener.close()
            raise

    @property
    def url(self) -> str:
        """Where it is reached."""
        return self._listener.url

    def start(self) -> None:
        """Begin to read changelogs and to answer; questions are refused with "try again" until copies have read up."""
        try:
            self.views.start()
            self._server.start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the others, let requests under way end, and give everything back. Safe to call again."""
        if self._around is not None:
            self._around.close()
        self._server.close()
        self._app.close()
        self.views.close()
        self._remote.close()
