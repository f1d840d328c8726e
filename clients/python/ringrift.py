#!/usr/bin/env python3
"""RingRift Coordination from Python: publish events, consume them under a durable name, look after dead letters.

One file, Python 3.9 or newer, standard library only: copy it next to your program. It speaks to a main process
(``ringrift up``) on the same machine, through the Unix socket or the loopback port that the main process announces in
its data folder.

    import ringrift

    client = ringrift.connect()
    client.publish("NEW_GAMES_AVAILABLE", {"config_key": "hex8_2p", "new_games": 500, "total_games": 12_000})

    def on_games(event):
        print(event.event_type, event.payload["config_key"])

    client.subscribe("exporter", ["NEW_GAMES_AVAILABLE"], on_games, start="earliest").wait()

What holds:

- ``publish`` returns once the event is on the main process's disk. While the main process is away it tries again under
  the same event id, so a repeat never becomes a second event.
- A consumer is a name. Whoever comes back under it, after a crash or a reboot on either side, reads on where it was.
- An event is acknowledged after its handler has returned. If the handler raises, the event comes again, at most five
  times, each time later; then it waits as a dead letter of this consumer alone. Events with the same order key wait for
  it, all others go on.
- What a handler emits is committed together with its acknowledgement, or not at all.
- Deliveries are at least once: after a crash the last ones may come again. Use ``event.event_id`` as the key of effects
  outside.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import enum
import hashlib
import http.client
import inspect
import json
import logging
import os
import queue
import random
import select
import socket
import ssl
import sys
import threading
import time
import traceback
import urllib.parse
import uuid
from dataclasses import dataclass, field, fields
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

__version__ = "0.1.0"
__all__ = [
    "Address",
    "Client",
    "DeadLetter",
    "DeadLetterGroup",
    "DeadLetterQueue",
    "Delivery",
    "EventQueue",
    "Receipt",
    "RingRiftError",
    "RouterEvent",
    "Subscription",
    "Unavailable",
    "connect",
    "find_data_dir",
]

log = logging.getLogger("ringrift")

T = TypeVar("T")
Json = Dict[str, Any]
Payload = Mapping[str, Any]
EventType = Union[str, enum.Enum]

REQUEST_TIMEOUT_SECONDS = 60.0
# The main process sends a sign of life every five seconds: three missed ones mean that it hangs.
STREAM_TIMEOUT_SECONDS = 20.0
MOST_EVENTS_IN_REQUEST = 1_000
MOST_ACKS_IN_REQUEST = 1_000
MOST_ERROR_CHARACTERS = 10_000
RECONNECT_FIRST_SECONDS = 0.05
RECONNECT_MOST_SECONDS = 2.0


# --- Errors -----------------------------------------------------------------------------------------------------------


class RingRiftError(Exception):
    """Something was refused. ``code`` is stable and meant for programs, ``hint`` says what to do next."""

    def __init__(
        self,
        code: str,
        message: str,
        hint: Optional[str] = None,
        status: Optional[int] = None,
        details: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(message)
        self.details: Mapping[str, Any] = details or {}
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status

    retryable = False

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class Unavailable(RingRiftError):
    """The main process is away or cannot write now; the same call may succeed later."""

    retryable = True


def _unreachable(cause: BaseException) -> Unavailable:
    return Unavailable(
        "UNREACHABLE",
        f"the main process does not answer: {cause or type(cause).__name__}",
        "Is it running? Start it with 'ringrift up'.",
    )


def _error_of(status: int, content: bytes) -> RingRiftError:
    try:
        problem = json.loads(content)
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    kind = Unavailable if problem.get("retryable", status >= 500) else RingRiftError
    return kind(
        str(problem.get("code", "UNEXPECTED_ANSWER")),
        str(problem.get("detail", f"answer {status}")),
        problem.get("hint"),
        status,
        problem.get("details") if isinstance(problem.get("details"), dict) else None,
    )


# --- Events -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RouterEvent:
    """An event as handlers see it."""

    event_type: str
    payload: Json
    timestamp: float
    """When it was published, in Unix seconds."""
    source: str
    origin: str
    event_id: str
    trace_id: str
    correlation_id: str
    parent_event_id: Optional[str]
    content_hash: str
    seq: Optional[int]
    """Place in the journal; None for events that are not journaled."""
    order_key: Optional[str]
    node_id: str
    payload_version: int
    event_class: str


@dataclass(frozen=True)
class Delivery(RouterEvent):
    """An event on its way to a consumer."""

    attempt: int = 1
    """1 on the first try."""
    _emit: Optional[Callable[[EventType, Payload], None]] = field(default=None, repr=False, compare=False)

    def emit(self, event_type: EventType, payload: Payload) -> None:
        """Says something because of this event; committed together with its acknowledgement. For handlers only."""
        if self._emit is None:
            raise RuntimeError("emit() is for handlers of subscribe(); with poll(), give what you say to ack(emit=...)")
        self._emit(event_type, payload)


@dataclass(frozen=True)
class Receipt:
    """What became of a publish."""

    event_id: str
    """For a suppressed repeat: the id of the first event."""
    event_type: str
    """The canonical name."""
    seq: Optional[int]
    suppressed: Optional[str]
    """None, or why nothing was added: "event_id" (sent before) or "content" (said before, within the window)."""


@dataclass(frozen=True)
class Acked:
    """What became of an acknowledgement."""

    acked: List[int]
    refused: List[int]
    """No longer held by this session: they come again."""


def _name_of(event_type: EventType) -> str:
    return str(event_type.value) if isinstance(event_type, enum.Enum) else event_type


def _names_of(event_types: Optional[Union[EventType, Iterable[EventType]]]) -> List[str]:
    if event_types is None:
        return []
    if isinstance(event_types, (str, enum.Enum)):
        return [_name_of(event_types)]
    return [_name_of(each) for each in event_types]


def _json_of(value: Any, what: str) -> bytes:
    try:
        # Unpaired surrogates are no text: they fail here and not in the main process.
        return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as cause:
        raise RingRiftError(
            "INVALID_PAYLOAD",
            f"{what}: {cause}",
            "Finite numbers, texts, booleans, None, lists and dicts with text keys; convert arrays and paths first.",
        ) from cause


def _to_wire(
    event_type: EventType,
    payload: Payload,
    source: str,
    *,
    event_id: Optional[str] = None,
    parent: Optional[RouterEvent] = None,
    correlation_id: Optional[str] = None,
    payload_version: int = 1,
    routing: Optional[str] = None,
) -> Json:
    """The event as CloudEvents 1.0 JSON, with W3C trace context."""
    name = _name_of(event_type)
    if not isinstance(payload, Mapping):
        raise RingRiftError("INVALID_PAYLOAD", f"{name}: a payload is a dict, not {type(payload).__name__}")
    data = dict(payload)
    _json_of(data, name)
    this = event_id or str(uuid.uuid4())
    trace = parent.trace_id if parent else uuid.uuid4().hex
    span = hashlib.sha256(this.encode()).hexdigest()[:16]
    now = datetime.datetime.now(datetime.timezone.utc)
    wire: Json = {
        "specversion": "1.0",
        "id": this,
        "type": name,
        "source": f"/ringrift/local/{urllib.parse.quote(source, safe='')}",
        "time": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "traceparent": f"00-{trace}-{span}-01",
        "correlationid": correlation_id or (parent.correlation_id if parent else this),
        "payloadversion": payload_version,
        "data": data,
    }
    if parent:
        wire["causationid"] = parent.event_id
    if routing is not None:
        wire["routing"] = routing
    return wire


def _fields_from_wire(wire: Json) -> Json:
    parts = wire["source"].split("/") if wire["source"].startswith("/ringrift/") else []
    node, source = (urllib.parse.unquote(part) for part in parts[2:]) if len(parts) == 4 else ("", wire["source"])
    sequence = wire.get("sequence")
    return {
        "event_type": wire["type"],
        "payload": wire["data"],
        "timestamp": datetime.datetime.fromisoformat(wire["time"].replace("Z", "+00:00")).timestamp(),
        "source": source,
        "origin": wire["origin"],
        "event_id": wire["id"],
        "trace_id": wire["traceparent"][3:35],
        "correlation_id": wire["correlationid"],
        "parent_event_id": wire.get("causationid"),
        "content_hash": wire["contenthash"],
        "seq": None if sequence is None else int(sequence),
        "order_key": wire.get("partitionkey"),
        "node_id": node,
        "payload_version": wire["payloadversion"],
        "event_class": wire["eventclass"],
    }


# --- Finding and reaching the main process ----------------------------------------------------------------------------


def find_data_dir(start: Optional[str] = None) -> str:
    """RINGRIFT_DATA_DIR, or ``.ringrift`` in the nearest folder, here or above, that has it, or ``.ringrift`` here."""
    named = os.environ.get("RINGRIFT_DATA_DIR")
    if named:
        return os.path.abspath(named)
    here = at = os.path.abspath(start or os.getcwd())
    while True:
        candidate = os.path.join(at, ".ringrift")
        if os.path.isdir(candidate):
            return candidate
        above = os.path.dirname(at)
        if above == at:
            return os.path.join(here, ".ringrift")
        at = above


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _PinnedConnection(http.client.HTTPSConnection):
    """TLS to the one certificate that is right, whoever signed it."""

    def __init__(self, host: str, port: Optional[int], timeout: Optional[float], fingerprint: str) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        super().__init__(host, port, timeout=timeout, context=context)
        self._wanted = _digits_of(fingerprint)

    def connect(self) -> None:
        super().connect()
        shown = hashlib.sha256(self.sock.getpeercert(binary_form=True) or b"").hexdigest()
        if shown != self._wanted:
            self.close()
            raise RingRiftError(
                "WRONG_CERTIFICATE",
                f"the main process shows another certificate ({shown})",
                "If it has a new certificate, give connect() its fingerprint.",
            )


def _digits_of(fingerprint: str) -> str:
    return "".join(digit for digit in fingerprint.lower() if digit in "0123456789abcdef")


def _origin_of(url: str) -> Tuple[str, Optional[str], Optional[int]]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


@dataclass(frozen=True)
class Address:
    """A coordinator, such as ``https://host:8770``, with the SHA-256 of its certificate if that is self-signed."""

    url: str
    fingerprint: Optional[str] = None


class _Endpoint:
    """Opens connections to the main process; looks it up again each time, because a restart may move it.

    Of several coordinators it asks the one that leads: one that stands by names it.
    """

    def __init__(
        self, data_dir: str, port: Optional[int], token: Optional[str], addresses: Sequence[Address] = ()
    ) -> None:
        self._data_dir = data_dir
        self._port = port
        self._token = token
        self._addresses = list(addresses)
        self._at = 0
        self._leader: Optional[Address] = None

    def turn(self, error: RingRiftError) -> None:
        """The one that was asked does not lead, or is not there: the next request goes to another one."""
        if error.code not in ("NOT_LEADER", "UNREACHABLE", "STOPPING"):
            return
        named = error.details.get("leader") if error.code == "NOT_LEADER" else None
        leader = Address(str(named["url"]), named.get("fingerprint")) if isinstance(named, dict) else None
        if not self._addresses:
            # The coordinator of this machine names the leader, and has a token that is good there.
            self._leader = leader if leader and self._port is None and self._cluster_token() else None
            return
        # What is sent is a secret: it goes to addresses that were given, not to any that somebody names.
        known = [_origin_of(each.url) for each in self._addresses]
        found = known.index(_origin_of(leader.url)) if leader and _origin_of(leader.url) in known else self._at
        self._at = found if found != self._at else (self._at + 1) % len(known)

    def _over_url(self, address: Address, token: str, timeout: Optional[float]) -> Tuple[http.client.HTTPConnection, Dict[str, str]]:
        scheme, host, port = _origin_of(address.url)
        headers = {"Authorization": f"Bearer {token}"}
        if scheme != "https":
            return http.client.HTTPConnection(host or "", port, timeout=timeout), headers
        if address.fingerprint:
            return _PinnedConnection(host or "", port, timeout, address.fingerprint), headers
        return http.client.HTTPSConnection(host or "", port, timeout=timeout), headers

    def _cluster_token(self) -> Optional[str]:
        try:
            with open(os.path.join(self._data_dir, "cluster-token"), encoding="utf-8") as file:
                return file.read().strip() or None
        except OSError:
            return None

    def open(self, timeout: Optional[float]) -> Tuple[http.client.HTTPConnection, Dict[str, str]]:
        if self._addresses:
            return self._over_url(self._addresses[self._at], self._token or self._token_of_folder(), timeout)
        if self._leader is not None:
            return self._over_url(self._leader, self._cluster_token() or "", timeout)
        if self._port is not None:
            return self._over_port(self._port, timeout)
        announced = self._announced()
        if hasattr(socket, "AF_UNIX"):
            return _UnixConnection(announced["socket_path"], timeout), {}  # type: ignore[arg-type]
        return self._over_port(announced["port"], timeout)

    def _over_port(self, port: int, timeout: Optional[float]) -> Tuple[http.client.HTTPConnection, Dict[str, str]]:
        headers = {"Authorization": f"Bearer {self._token or self._token_of_folder()}"}
        return http.client.HTTPConnection("127.0.0.1", port, timeout=timeout), headers

    def _announced(self) -> Json:
        try:
            with open(os.path.join(self._data_dir, "endpoint.json"), encoding="utf-8") as file:
                announced: Json = json.load(file)
        except FileNotFoundError:
            raise self._not_running() from None
        except ValueError as cause:
            raise self._not_running() from cause
        except PermissionError as cause:
            raise RingRiftError("FORBIDDEN", f"the data folder belongs to another user: {cause}") from cause
        return announced

    def _token_of_folder(self) -> str:
        try:
            with open(os.path.join(self._data_dir, "token"), encoding="utf-8") as file:
                return file.read().strip()
        except FileNotFoundError:
            raise RingRiftError(
                "UNAUTHORIZED",
                f"no token in {self._data_dir}",
                "Give connect() the token, or the data folder of the main process.",
            ) from None

    def _not_running(self) -> Unavailable:
        return Unavailable(
            "NOT_RUNNING",
            f"no main process is running on the data folder {self._data_dir}",
            "Start it with 'ringrift up', or choose another folder with RINGRIFT_DATA_DIR or connect(data_dir).",
        )


class _Channel:
    """HTTP to the main process over connections that are kept. Threads may share it."""

    def __init__(self, endpoint: _Endpoint) -> None:
        self._endpoint = endpoint
        self._idle: List[Tuple[http.client.HTTPConnection, Dict[str, str]]] = []
        self._lock = threading.Lock()

    def send(
        self, method: str, path: str, body: Any = None, timeout: float = REQUEST_TIMEOUT_SECONDS
    ) -> Any:
        text = None if body is None else _json_of(body, "request")
        connection, headers = self._take(timeout)
        try:
            sent = dict(headers, **({} if text is None else {"Content-Type": "application/json"}))
            connection.request(method, path, text, sent)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as cause:
            connection.close()
            raise self._turned(_unreachable(cause)) from cause
        except BaseException:
            connection.close()
            raise
        if response.will_close or not response.isclosed():
            connection.close()
        else:
            with self._lock:
                self._idle.append((connection, headers))
        if response.status >= 400:
            raise self._turned(_error_of(response.status, content))
        return json.loads(content)

    def _turned(self, error: RingRiftError) -> RingRiftError:
        self._endpoint.turn(error)
        if error.code == "NOT_LEADER":
            self.close()
        return error

    def lines(self, path: str, timeout: Optional[float]) -> "_Lines":
        return _Lines(self._endpoint, path, timeout)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _take(self, timeout: float) -> Tuple[http.client.HTTPConnection, Dict[str, str]]:
        while True:
            with self._lock:
                kept = self._idle.pop() if self._idle else None
            if kept is None:
                return self._endpoint.open(timeout)
            sock = kept[0].sock
            # Something to read on an idle connection is its end: the main process hung up.
            if sock is not None and not select.select([sock], [], [], 0)[0]:
                sock.settimeout(timeout)
                return kept
            kept[0].close()


class _Lines:
    """The lines of an endless answer. Whoever reads them closes them; ``end`` may be called from any thread."""

    def __init__(self, endpoint: _Endpoint, path: str, timeout: Optional[float]) -> None:
        self._connection, headers = endpoint.open(timeout)
        try:
            self._connection.request("GET", path, headers=headers)
            # Kept apart: http.client forgets the socket when the answer ends.
            self._sock = self._connection.sock
            self._response = self._connection.getresponse()
            if self._response.status >= 400:
                refused = _error_of(self._response.status, self._response.read())
                endpoint.turn(refused)
                raise refused
        except (OSError, http.client.HTTPException) as cause:
            self._connection.close()
            unreachable = _unreachable(cause)
            endpoint.turn(unreachable)
            raise unreachable from cause
        except BaseException:
            self._connection.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        try:
            while True:
                part = self._response.read1(1 << 16)
                if not part:
                    return
                *whole, rest = (rest + part).split(b"\n")
                yield from whole
        except (OSError, http.client.HTTPException) as cause:
            raise _unreachable(cause) from cause
        finally:
            self._connection.close()

    def end(self) -> None:
        """Hangs up: the reader, wherever it is, comes to the end of the answer."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # Closed already.


# --- The client -------------------------------------------------------------------------------------------------------


def connect(
    data_dir: Optional[str] = None,
    *,
    source: Optional[str] = None,
    port: Optional[int] = None,
    token: Optional[str] = None,
    addresses: Sequence[Union[str, Address]] = (),
    patience_seconds: float = 60.0,
) -> "Client":
    """A client of the main process of a data folder (see ``find_data_dir`` for the default).

    Nothing is opened yet: a main process that is not running shows at the first call. ``port`` goes over loopback
    instead of the Unix socket, with ``token`` or the data folder's own token. ``addresses`` are those of several
    coordinators, asked with ``token``: the client finds the one that leads, and follows. ``source`` names your program in the
    events that it publishes. ``patience_seconds`` is how long a publish waits for a main process that is away.
    """
    known = [each if isinstance(each, Address) else Address(each) for each in addresses]
    endpoint = _Endpoint(os.path.abspath(data_dir) if data_dir else find_data_dir(), port, token, known)
    return Client(_Channel(endpoint), source or _program_name(), patience_seconds)


def _program_name() -> str:
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    return "python" if name in ("", "-c", "-") else name


class Client:
    """A process beside the main one: publishes to its router and consumes from its journal. Threads may share it."""

    def __init__(self, channel: _Channel, source: str, patience_seconds: float) -> None:
        self._channel = channel
        self._source = source
        self._patience_seconds = patience_seconds
        self._subscriptions: List[Subscription] = []
        self._closed = False

    def publish(
        self,
        event_type: EventType,
        payload: Payload,
        source: Optional[str] = None,
        *,
        event_id: Optional[str] = None,
        parent: Optional[RouterEvent] = None,
        correlation_id: Optional[str] = None,
        payload_version: int = 1,
        route_to_data_bus: bool = True,
        route_to_stage_bus: bool = True,
        route_to_cross_process: bool = True,
    ) -> Receipt:
        """Returns once the event is committed. While the main process is away it repeats the event, under the same id.

        Raises ``RingRiftError`` when it is refused (a wrong payload, an unknown name under strict validation) and
        ``Unavailable`` when the main process stayed away, or its disk full, for longer than the client's patience.
        """
        views = {
            "data_bus": route_to_data_bus,
            "stage_bus": route_to_stage_bus,
            "cross_process": route_to_cross_process,
        }
        wire = _to_wire(
            event_type,
            payload,
            source or self._source,
            event_id=event_id,
            parent=parent,
            correlation_id=correlation_id,
            payload_version=payload_version,
            routing=None if all(views.values()) else ",".join(view for view, on in views.items() if on) or "none",
        )
        return self._publish([wire])[0]

    def publish_all(
        self, events: Iterable[Tuple[EventType, Payload]], source: Optional[str] = None
    ) -> List[Receipt]:
        """Several events, in order, a thousand to a request; each request is committed all or nothing."""
        wires = [_to_wire(event_type, payload, source or self._source) for event_type, payload in events]
        receipts: List[Receipt] = []
        for start in range(0, len(wires), MOST_EVENTS_IN_REQUEST):
            receipts += self._publish(wires[start : start + MOST_EVENTS_IN_REQUEST])
        return receipts

    def _publish(self, wires: Sequence[Json]) -> List[Receipt]:
        body: Any = wires[0] if len(wires) == 1 else list(wires)
        answer = self._patiently(lambda: _document(self._channel.send("POST", "/v1/events", body)))
        return [Receipt(**_known(Receipt, each)) for each in answer["events"]]

    def subscribe(
        self,
        consumer: str,
        event_types: Optional[Union[EventType, Iterable[EventType]]],
        handler: Callable[[Delivery], Any],
        start: str = "now",
        *,
        version: str = "1",
        lease_seconds: Optional[float] = None,
        credit: int = 256,
    ) -> "Subscription":
        """Consumes under a stable name, in a thread of its own, until stopped.

        ``event_types``: names in any spelling; None or an empty list for all. ``start``: where it begins when this name
        is first seen, "now" or "earliest"; afterwards it reads on from where it was. ``handler`` takes the event, may
        be ``async``, and is called for one event after the other; when it returns the event is done, when it raises the
        event comes again. ``event.emit(name, payload)`` publishes together with the acknowledgement. ``version`` is
        shown with dead letters, so that one knows which code failed. ``lease_seconds`` is how long a handler may take
        (the main process's handler timeout unless said). ``credit`` is how many unacknowledged events may be on their
        way.

        Call ``wait()`` on what is returned to block for as long as it runs.
        """
        subscription = Subscription(
            self._channel,
            consumer,
            _session_body(event_types, start, version, lease_seconds),
            handler,
            credit,
        )
        self._subscriptions.append(subscription)
        return subscription

    def open_queue(
        self,
        consumer: str,
        event_types: Optional[Union[EventType, Iterable[EventType]]] = None,
        start: str = "now",
        *,
        version: str = "1",
        lease_seconds: Optional[float] = None,
    ) -> "EventQueue":
        """The same by hand: poll, work, ack. The consumer exists from this call on, and is owed what comes after it."""
        return EventQueue(self, consumer, _session_body(event_types, start, version, lease_seconds))

    @property
    def dead_letters(self) -> "DeadLetterQueue":
        """Deliveries whose tries are spent."""
        return DeadLetterQueue(self._channel, self._source)

    def history(
        self,
        event_type: Optional[EventType] = None,
        limit: int = 100,
        *,
        source: Optional[str] = None,
        origin: Optional[str] = None,
        order_key: Optional[str] = None,
        since: Optional[float] = None,
        until: Optional[float] = None,
    ) -> List[RouterEvent]:
        """The newest events of the journal that fit, oldest first. Times are Unix seconds."""
        path = "/v1/events?" + _query(
            event_type=None if event_type is None else _name_of(event_type),
            limit=limit,
            source=source,
            origin=origin,
            order_key=order_key,
            since=since,
            until=until,
        )
        return [RouterEvent(**_fields_from_wire(wire)) for wire in self._channel.send("GET", path)["events"]]

    def tail(
        self,
        event_types: Optional[Union[EventType, Iterable[EventType]]] = None,
        on_missed: Optional[Callable[[int], None]] = None,
    ) -> Iterator[RouterEvent]:
        """What happens from now on, owed nothing: for looking, not for working. Ends when the main process does."""
        path = "/v1/stream?" + urllib.parse.urlencode([("event_type", name) for name in _names_of(event_types)])
        for line in self._channel.lines(path, None):
            if not line:
                continue
            told = json.loads(line)
            if "event" in told:
                yield RouterEvent(**_fields_from_wire(told["event"]))
            elif on_missed is not None:
                on_missed(told.get("missed", 0))

    def status(self) -> Json:
        """The state of the main process: subscriptions, counters, consumers and how far behind each is."""
        return _document(self._channel.send("GET", "/status"))

    def request(self, method: str, path: str, body: Optional[Json] = None) -> Any:
        """Any route of the local API."""
        return self._channel.send(method, path, body)

    def forget(self, consumer: str) -> Json:
        """Says goodbye for good: this consumer is owed nothing any more."""
        return _document(self._channel.send("DELETE", f"/v1/consumers/{urllib.parse.quote(consumer, safe='')}"))

    def close(self) -> None:
        """Stops the subscriptions, each after the event it works on, and closes the connections."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.stop()
        self._channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """Tries again while the main process is away, as long as our patience lasts."""
        until = time.monotonic() + self._patience_seconds
        tries = 0
        while True:
            try:
                return attempt()
            except Unavailable:
                if self._closed or time.monotonic() >= until:
                    raise
                tries += 1
                time.sleep(min(_backoff_seconds(tries), max(0.0, until - time.monotonic())))


def _session_body(
    event_types: Optional[Union[EventType, Iterable[EventType]]],
    start: str,
    version: str,
    lease_seconds: Optional[float],
) -> Json:
    body: Json = {"event_types": _names_of(event_types), "start": start, "version": version}
    return body if lease_seconds is None else dict(body, lease_seconds=lease_seconds)


def _sessions_path(consumer: str) -> str:
    return f"/v1/consumers/{urllib.parse.quote(consumer, safe='')}/sessions"


def _document(answer: Any) -> Json:
    """An answer that is an object, as nearly all are."""
    document: Json = answer
    return document


def _query(**given: Any) -> str:
    return urllib.parse.urlencode({key: value for key, value in given.items() if value is not None})


def _known(kind: Any, row: Json) -> Json:
    """What this version understands of an answer; a newer main process may say more."""
    names = {each.name for each in fields(kind)}
    return {key: value for key, value in row.items() if key in names}


def _backoff_seconds(tries: int) -> float:
    longest: float = min(RECONNECT_MOST_SECONDS, RECONNECT_FIRST_SECONDS * 2 ** min(tries - 1, 20))
    return longest * random.uniform(0.5, 1.0)


def _says(error: BaseException) -> str:
    """What was raised, its own words first: they are what one looks for in a list of dead letters."""
    words = "".join(traceback.format_exception_only(type(error), error)).strip()
    whole = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return f"{words}\n{whole}"[:MOST_ERROR_CHARACTERS]


# --- Consuming with a handler -----------------------------------------------------------------------------------------


class _LeaseLost(Exception):
    """An answer came too late: what this session was given is no longer its own."""


class _Answers:
    """Sends acknowledgements in order from a thread of its own, many together while a request is under way."""

    def __init__(self, send: Callable[[str, Json], Json]) -> None:
        self._send = send
        self._waiting: List[int] = []
        self._failed: Optional[BaseException] = None
        self._sending = False
        self._closed = False
        self._change = threading.Condition()
        threading.Thread(target=self._run, name="ringrift-acks", daemon=True).start()

    def ack(self, seq: int) -> None:
        with self._change:
            self._waiting.append(seq)
            self._change.notify_all()

    def ack_saying(self, seq: int, emitted: List[Json]) -> None:
        """Waits for the answer, because what is said may be refused, and then the delivery has failed."""
        self.drain()
        _held(self._send("ack", {"seqs": [seq], "emit": emitted}))

    def nack(self, seq: int, error: str) -> str:
        self.drain()
        return str(self._send("nack", {"seq": seq, "error": error})["outcome"])

    def check(self) -> None:
        if self._failed is not None:
            raise self._failed

    def drain(self) -> None:
        with self._change:
            self._change.wait_for(lambda: self._failed is not None or not (self._waiting or self._sending))
        self.check()

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._change.notify_all()

    def _run(self) -> None:
        while True:
            with self._change:
                self._sending = False
                self._change.notify_all()
                self._change.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                batch = self._waiting[:MOST_ACKS_IN_REQUEST]
                self._waiting = self._waiting[MOST_ACKS_IN_REQUEST:]
                self._sending = True
            try:
                _held(self._send("ack", {"seqs": batch}))
            except Exception as error:  # noqa: BLE001 - shown to the worker at its next check.
                with self._change:
                    self._failed = error
                    self._change.notify_all()
                return


def _held(answer: Json) -> None:
    if answer["refused"]:
        raise _LeaseLost(f"the main process took back {len(answer['refused'])} deliveries")


_STREAM_ENDED = object()
_WAKE = object()


class Subscription:
    """A running consumer. Works in threads that end with the program; ``stop`` ends it cleanly."""

    def __init__(
        self,
        channel: _Channel,
        consumer: str,
        body: Json,
        handler: Callable[[Delivery], Any],
        credit: int,
    ) -> None:
        self.consumer = consumer
        self.handled = 0
        """Deliveries that this subscription has ended well."""
        self.error: Optional[BaseException] = None
        """Why it gave up, if it did."""
        self._channel = channel
        self._body = body
        self._handler = handler
        self._credit = credit
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._stopping = threading.Event()
        self._inbox: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._opened = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"ringrift-{consumer}", daemon=True)
        self._thread.start()

    def ready(self, timeout: Optional[float] = None) -> bool:
        """Waits until the main process knows this consumer: from then on it is owed every event it asked for."""
        self._opened.wait(timeout)
        self._raise()
        return self._opened.is_set()

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Blocks while it runs; raises what made it give up. True when it has ended."""
        until = None if timeout is None else time.monotonic() + timeout
        while self._thread.is_alive():
            left = 1.0 if until is None else min(1.0, until - time.monotonic())
            if left <= 0:
                return False
            # In slices, so that Ctrl-C is heard on every platform.
            self._thread.join(left)
        self._raise()
        return True

    def stop(self, timeout: Optional[float] = None) -> bool:
        """Lets the event that is being handled come to its end, acknowledges it, and gives the others back."""
        self._stopping.set()
        self._inbox.put(_WAKE)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        tries = 0
        try:
            while not self._stopping.is_set():
                try:
                    opened = self._channel.send("POST", _sessions_path(self.consumer), self._body)
                    self._opened.set()
                    tries = 0
                    self._work(f"{_sessions_path(self.consumer)}/{opened['session_id']}")
                except (RingRiftError, _LeaseLost) as trouble:
                    if isinstance(trouble, RingRiftError) and not _may_pass(trouble):
                        raise
                    tries += 1
                    log.info("consumer %s reconnects: %s", self.consumer, trouble)
                    self._stopping.wait(_backoff_seconds(tries))
        except BaseException as error:  # noqa: BLE001 - kept for wait(), which raises it in the caller's thread.
            self.error = error
            log.error("consumer %s gave up: %s", self.consumer, error)
        finally:
            self._opened.set()
            if self._loop is not None:
                self._loop.close()

    def _call(self, event: Delivery) -> None:
        result = self._handler(event)
        if inspect.isawaitable(result):
            self._loop = self._loop or asyncio.new_event_loop()
            self._loop.run_until_complete(result)

    def _work(self, base: str) -> None:
        """Handles what one session brings, until it ends or we stop."""
        inbox: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._inbox = inbox
        lines = self._channel.lines(f"{base}/stream?credit={self._credit}", STREAM_TIMEOUT_SECONDS)
        ended = threading.Event()
        threading.Thread(target=_pump, args=(lines, inbox, ended), name="ringrift-stream", daemon=True).start()
        answers = _Answers(lambda path, body: _document(self._channel.send("POST", f"{base}/{path}", body)))
        # Keys whose event failed, and which one: the later ones were taken back and come again after it. An earlier one is a
        # dead letter that was sent back, and is ours to answer.
        failed_at: Dict[str, int] = {}
        try:
            while not self._stopping.is_set():
                item = inbox.get()
                answers.check()
                if item is _STREAM_ENDED or ended.is_set():
                    # Asked to close the session, the main process says why it is gone; or else the stream broke.
                    self._channel.send("DELETE", base)
                    raise Unavailable("STREAM_ENDED", "the stream of events ended")
                if isinstance(item, dict) and "ended" in item:
                    raise Unavailable(item["ended"]["code"], item["ended"]["detail"])
                if item is not _WAKE:
                    self._handle(item, answers, failed_at)
            answers.drain()
            self._channel.send("DELETE", base)
        except _LeaseLost:
            # Given back in good order, nothing counts as a failed try that was none.
            self._channel.send("DELETE", base)
            raise
        finally:
            answers.close()
            lines.end()

    def _handle(self, item: Json, answers: _Answers, failed_at: Dict[str, int]) -> None:
        emitted: List[Json] = []
        ended = False

        def emit(event_type: EventType, payload: Payload) -> None:
            if ended:
                raise RuntimeError(f"{self.consumer} emits {_name_of(event_type)} after its handler has ended")
            emitted.append(_to_wire(event_type, payload, self.consumer, parent=event))

        event = Delivery(**_fields_from_wire(item["event"]), attempt=item["attempt"], _emit=emit)
        key, seq = event.order_key, event.seq
        assert seq is not None, "only journaled events are owed"
        if key is not None and key in failed_at:
            if seq > failed_at[key]:
                return
            if seq == failed_at[key]:
                del failed_at[key]
        failure: Optional[Exception] = None
        try:
            self._call(event)
        except Exception as error:  # noqa: BLE001 - a handler may raise anything; the event comes again.
            failure = error
        ended = True
        if failure is None and emitted:
            try:
                answers.ack_saying(seq, emitted)
            except RingRiftError as refusal:
                if _may_pass(refusal) or refusal.code.startswith("SESSION_"):
                    raise
                failure = refusal
        elif failure is None:
            answers.ack(seq)
        if failure is None:
            self.handled += 1
            return
        log.warning("handler of %s failed on %s (%s): %s", self.consumer, event.event_type, event.event_id, failure)
        outcome = answers.nack(seq, _says(failure))
        if outcome == "refused":
            raise _LeaseLost("its time was over before it failed") from failure
        if outcome == "retrying" and key is not None:
            failed_at[key] = seq


def _pump(lines: _Lines, inbox: "queue.SimpleQueue[Any]", ended: threading.Event) -> None:
    """Reads ahead, so that signs of life are heard while a handler works. An empty line is such a sign."""
    try:
        for line in lines:
            if line:
                inbox.put(json.loads(line))
    except RingRiftError as trouble:
        log.debug("stream: %s", trouble)
    finally:
        ended.set()
        inbox.put(_STREAM_ENDED)


def _may_pass(trouble: RingRiftError) -> bool:
    """Whether a consumer should come back: the session is gone, or the main process is away."""
    if trouble.code == "SESSION_REPLACED":
        return False
    return trouble.retryable or trouble.code.startswith(("SESSION_", "UNEXPECTED_"))


# --- Consuming by hand ------------------------------------------------------------------------------------------------


class EventQueue:
    """Polls under a stable name; for programs that look in from time to time.

    Acknowledge or give back everything you polled, in order. After a ``nack``, leave the later events with the same
    ``order_key`` alone: they were taken back and come again after it.
    """

    def __init__(self, client: Client, consumer: str, body: Json) -> None:
        self.consumer = consumer
        self._client = client
        self._body = body
        self._base = ""
        client._patiently(self._open)

    def publish(self, event_type: EventType, payload: Payload, source: Optional[str] = None) -> Receipt:
        return self._client.publish(event_type, payload, source or self.consumer)

    def poll(self, limit: int = 100, wait_seconds: float = 0.0) -> List[Delivery]:
        """Up to ``limit`` events, waiting for some up to ``wait_seconds`` (at most 60)."""

        def attempt() -> Json:
            body = {"max": limit, "wait_seconds": wait_seconds}
            timeout = REQUEST_TIMEOUT_SECONDS + wait_seconds
            try:
                return _document(self._client._channel.send("POST", f"{self._base}/poll", body, timeout))
            except RingRiftError as trouble:
                if trouble.code not in ("SESSION_NOT_FOUND", "SESSION_CLOSED"):
                    raise
                # The main process was started anew, or took the session back: what was not acknowledged comes again.
                self._open()
                return _document(self._client._channel.send("POST", f"{self._base}/poll", body, timeout))

        answer = self._client._patiently(attempt)
        return [Delivery(**_fields_from_wire(one["event"]), attempt=one["attempt"]) for one in answer["deliveries"]]

    def get_pending_events(self, limit: int = 100) -> List[Delivery]:
        """What waits now; the same as ``poll``."""
        return self.poll(limit)

    def ack(
        self,
        events: Union[RouterEvent, Iterable[RouterEvent]],
        emit: Iterable[Tuple[EventType, Payload]] = (),
    ) -> Acked:
        """Done, together with what you say because of it (``emit``: names and payloads): all or nothing.

        Events in ``refused`` were no longer yours, because the lease ran out or the main process was started anew; they
        come again.
        """
        some = [events] if isinstance(events, RouterEvent) else list(events)
        if not some:
            return Acked([], [])
        parent = some[-1]
        words = [_to_wire(name, payload, self.consumer, parent=parent) for name, payload in emit]
        seqs = [event.seq for event in some if event.seq is not None]
        try:
            answer = self._client.request("POST", f"{self._base}/ack", {"seqs": seqs, "emit": words})
        except RingRiftError as trouble:
            if trouble.code not in ("SESSION_NOT_FOUND", "SESSION_CLOSED"):
                raise
            return Acked([], seqs)
        return Acked(list(answer["acked"]), list(answer["refused"]))

    def nack(self, event: RouterEvent, error: Union[str, BaseException]) -> str:
        """It failed: "retrying", "dead" when its tries are spent, or "refused" when it was no longer yours."""
        text = _says(error) if isinstance(error, BaseException) else error[:MOST_ERROR_CHARACTERS]
        try:
            answer = self._client.request("POST", f"{self._base}/nack", {"seq": event.seq, "error": text})
            return str(answer["outcome"])
        except RingRiftError as trouble:
            if trouble.code not in ("SESSION_NOT_FOUND", "SESSION_CLOSED"):
                raise
            return "refused"

    def close(self) -> None:
        """Gives back what was not acknowledged; the consumer keeps its place."""
        try:
            self._client.request("DELETE", self._base)
        except RingRiftError as trouble:
            if not (trouble.retryable or trouble.code.startswith("SESSION_")):
                raise

    def __enter__(self) -> "EventQueue":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _open(self) -> None:
        opened = self._client.request("POST", _sessions_path(self.consumer), self._body)
        self._base = f"{_sessions_path(self.consumer)}/{opened['session_id']}"


# --- Dead letters -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeadLetter:
    """A delivery whose tries are spent: one event, one consumer."""

    id: int
    consumer: str
    event_id: str
    event_type: str
    error: str
    fingerprint: str
    """Groups errors with one cause."""
    attempts: int
    first_failed_at: float
    """Unix seconds, as all times here."""
    last_failed_at: float
    handler_version: str
    status: str
    """pending, retrying, recovered or discarded."""
    retry_count: int
    resolved_at: Optional[float] = None
    resolved_by: Optional[str] = None


@dataclass(frozen=True)
class DeadLetterGroup:
    """Letters with one cause."""

    consumer: str
    event_type: str
    fingerprint: str
    letters: int
    error: str
    first_failed_at: float
    last_failed_at: float


def _letters(kind: Callable[..., T], rows: Iterable[Json]) -> List[T]:
    return [kind(**_known(kind, row)) for row in rows]


class DeadLetterQueue:
    """Letters go back to the consumer that failed, and to nobody else. Unresolved ones are never deleted.

    Where a method takes filters, these are ``id``, ``event_id``, ``consumer``, ``event_type`` and ``fingerprint``;
    everything given must hold.
    """

    def __init__(self, channel: _Channel, actor: str) -> None:
        self._channel = channel
        self._actor = actor

    def get_pending_events(self, limit: int = 100, **filters: Any) -> List[DeadLetter]:
        """Letters that wait for somebody, oldest first."""
        return self.list(limit, status="pending", **filters)

    def list(self, limit: int = 100, **filters: Any) -> List[DeadLetter]:
        """Letters in any state, or with ``status=`` pending, retrying, recovered or discarded."""
        answer = self._channel.send("GET", "/v1/dead-letters?" + _query(limit=limit, **filters))
        return _letters(DeadLetter, answer["dead_letters"])

    def get_pending_count(self) -> int:
        return self.counts()["pending"]

    def counts(self) -> Dict[str, int]:
        """How many letters are pending, retrying, recovered, discarded."""
        counts: Dict[str, int] = self._channel.send("GET", "/v1/dead-letters/summary")["counts"]
        return counts

    def get_error_summary(self) -> List[DeadLetterGroup]:
        """Pending letters with one cause together, most first."""
        return _letters(DeadLetterGroup, self._channel.send("GET", "/v1/dead-letters/summary")["groups"])

    def retry_event(self, which: Union[int, str], dry_run: bool = False) -> List[DeadLetter]:
        """One letter by its number, or all letters of an event by its id: one more try each, at once."""
        found = self._act("retry", {"id": which} if isinstance(which, int) else {"event_id": which}, 100, dry_run)
        if not found:
            raise RingRiftError(
                "DEAD_LETTER_NOT_FOUND", f"no pending dead letter {which}", "'ringrift dlq --pending' lists them."
            )
        return found

    def retry_all(
        self, max_events: int = 100, per_second: Optional[float] = None, dry_run: bool = False, **filters: Any
    ) -> List[DeadLetter]:
        """Sends letters back, at most ``max_events`` and ``per_second``; ``dry_run`` only says which."""
        if per_second is not None:
            filters["per_second"] = per_second
        return self._act("retry", filters, max_events, dry_run)

    def discard(self, max_events: int = 100, dry_run: bool = False, **filters: Any) -> List[DeadLetter]:
        """Gives letters up for good, on record. Needs a filter: nobody discards everything by leaving one out."""
        if not filters:
            raise RingRiftError("INVALID_REQUEST", "discard needs a filter", "For example fingerprint=... or id=...")
        return self._act("discard", filters, max_events, dry_run)

    def cleanup(self, older_than_hours: float = 24.0) -> int:
        """Forgets what was resolved longer ago than this, and says how many. Unresolved letters stay."""
        answer = self._channel.send("POST", "/v1/dead-letters/cleanup", {"older_than_hours": older_than_hours})
        return int(answer["deleted"])

    def _act(self, action: str, filters: Json, max_events: int, dry_run: bool) -> List[DeadLetter]:
        body = dict(filters, max_events=max_events, dry_run=dry_run, actor=self._actor)
        timeout = REQUEST_TIMEOUT_SECONDS + max_events / filters.get("per_second", max_events)
        answer = self._channel.send("POST", f"/v1/dead-letters/{action}", body, timeout)
        return _letters(DeadLetter, answer["dead_letters"])


# --- From the shell ---------------------------------------------------------------------------------------------------


def _shown(event: RouterEvent) -> str:
    return json.dumps({each.name: getattr(event, each.name) for each in fields(event) if not each.name.startswith("_")})


def _payload_argument(text: str) -> Json:
    try:
        payload = json.loads(text)
    except ValueError as cause:
        raise argparse.ArgumentTypeError(f"is not JSON: {cause}") from cause
    if not isinstance(payload, dict):
        raise argparse.ArgumentTypeError("is not a JSON object")
    return payload


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ringrift.py", description="Speak to a running RingRift main process. Events are printed as JSON lines."
    )
    parser.add_argument("--data-dir", help="data folder of the main process (RINGRIFT_DATA_DIR, or .ringrift)")
    commands = parser.add_subparsers(dest="command", required=True)
    publish = commands.add_parser("publish", help="publish one event and print its receipt")
    publish.add_argument("event_type", metavar="NAME")
    publish.add_argument("payload", metavar="JSON", type=_payload_argument, nargs="?", default={})
    publish.add_argument("--source")
    tail = commands.add_parser("tail", help="print what happens from now on")
    tail.add_argument("event_types", metavar="NAME", nargs="*")
    consume = commands.add_parser("consume", help="print events under a durable name, and acknowledge them")
    consume.add_argument("consumer", metavar="CONSUMER")
    consume.add_argument("event_types", metavar="NAME", nargs="*")
    consume.add_argument("--start", choices=("now", "earliest"), default="now")
    history = commands.add_parser("history", help="print the newest events of the journal")
    history.add_argument("event_type", metavar="NAME", nargs="?")
    history.add_argument("--limit", type=int, default=20)
    commands.add_parser("dead-letters", help="print pending dead letters")
    return parser


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command line; returns the exit code (0 well, 4 unavailable, 5 refused, as the commands of ringrift)."""
    given = _parser().parse_args(arguments)

    def show(text: str) -> None:
        print(text, flush=True)

    try:
        with connect(given.data_dir, patience_seconds=10) as client:
            if given.command == "publish":
                show(json.dumps(client.publish(given.event_type, given.payload, given.source).__dict__))
            elif given.command == "tail":
                for event in client.tail(given.event_types):
                    show(_shown(event))
            elif given.command == "consume":
                client.subscribe(
                    given.consumer, given.event_types, lambda event: show(_shown(event)), given.start
                ).wait()
            elif given.command == "history":
                for event in client.history(given.event_type, given.limit):
                    show(_shown(event))
            else:
                for letter in client.dead_letters.get_pending_events():
                    show(json.dumps(letter.__dict__))
        return 0
    except RingRiftError as error:
        print(f"error: {error.message}" + (f"\n  {error.hint}" if error.hint else ""), file=sys.stderr)
        return 4 if error.retryable else 5
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
