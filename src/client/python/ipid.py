"""A client of ipid: sends visitor events, and looks addresses up.

One file for Python 3.9 and newer, with the standard library only. README.md beside it shows how to use it.
"""

from __future__ import annotations

import atexit
import datetime
import email.utils
import http.client
import json
import logging
import multiprocessing.util
import os
import platform
import random
import re
import ssl
import threading
import time
import uuid
from collections import deque
from typing import (
    Any,
    Callable,
    Deque,
    Dict,
    Iterator,
    List,
    Literal,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    overload,
)
from urllib.parse import quote, urlencode, urlsplit

__version__ = "0.2.0"

__all__ = [
    "API_ERROR_CODES",
    "CLIENT_ERROR_CODES",
    "Client",
    "Counts",
    "ErrorCode",
    "FailedEvent",
    "IpidError",
]

log = logging.getLogger("ipid")

# A test compares them with those of the service.
ApiErrorCode = Literal[
    "malformed_request",
    "malformed_url",
    "malformed_json",
    "not_utf8",
    "broken_encoding",
    "empty_body",
    "no_events",
    "no_addresses",
    "missing_key",
    "unknown_key",
    "wrong_key_kind",
    "bad_signature",
    "unknown_path",
    "unknown_job",
    "rejected_lines_expired",
    "unknown_event",
    "unknown_company",
    "method_not_allowed",
    "slow_body",
    "job_ended",
    "idempotency_key_reused",
    "idempotency_key_in_use",
    "body_too_large",
    "too_many_events",
    "too_many_addresses",
    "too_many_values",
    "too_many_parameters",
    "unsupported_encoding",
    "unsupported_content_type",
    "invalid_request",
    "rate_limited",
    "quota_exceeded",
    "queue_full",
    "too_many_jobs",
    "too_many_questions",
    "too_many_requests",
    "too_many_bytes",
    "unexpected",
    "store_unavailable",
    "slow_answer",
    "not_ready",
]
# Of this client: README.md explains them.
ClientErrorCode = Literal[
    "network",
    "timeout",
    "unexpected_answer",
    "unknown_code",
    "not_json",
    "event_too_large",
    "client_queue_full",
    "client_closed",
    "not_delivered_in_time",
]
ErrorCode = Union[ApiErrorCode, ClientErrorCode]
API_ERROR_CODES: Tuple[str, ...] = get_args(ApiErrorCode)
CLIENT_ERROR_CODES: Tuple[str, ...] = get_args(ClientErrorCode)


class Fault(TypedDict):
    """What is wrong with a request: `path` is that of the value, such as `ip`."""

    path: str
    message: str


class EventResult(TypedDict, total=False):
    """What the service answered for an event. `filtered` and `invalid_ip` are not stored; a repeat is `ok`."""

    event_id: str
    ip: str
    status: Literal["ok", "filtered", "invalid_ip"]
    enrichment: Dict[str, str]
    quality: int
    rule: str


class LookupResult(TypedDict, total=False):
    """What is known of an address. `data` has the known attributes; an input that is no address has `ip` and `status` only."""

    ip: str
    tenant_id: str
    quality: int
    status: Literal["ok", "insufficient_quality", "invalid_ip"]
    data: Dict[str, Union[str, int, float]]
    partial: List[str]


class AcceptedBulk(TypedDict):
    """A bulk lookup that was queued as a job."""

    job_id: str
    status: Literal["queued"]


class BulkJob(TypedDict, total=False):
    """A bulk lookup as a job. `results` is None until it is completed. Newer services may send further fields."""

    job_id: str
    status: Literal["queued", "running", "completed", "failed"]
    progress_current: int
    progress_total: int
    label: str
    results: Optional[List[LookupResult]]


class Quota(TypedDict):
    daily_limit: int
    daily_used: int
    daily_remaining: int
    reset_at: str


class Lookup(LookupResult, total=False):
    quota: Quota


class AcceptedUpload(TypedDict):
    """An upload that is stored as a whole and will be processed. `received` counts lines without blank ones."""

    job_id: str
    status: Literal["queued"]
    received: int


class Job(TypedDict):
    """A batch job. `result_summary` is None until it is completed. Newer services may send further fields."""

    job_id: str
    status: Literal["queued", "running", "completed", "failed"]
    progress_pct: int
    progress_current: int
    progress_total: int
    progress_message: str
    rejected: int
    rejected_reasons: List[Dict[str, Any]]
    problem: Optional[str]
    result_summary: Optional[Dict[str, Any]]


class EventFate(TypedDict, total=False):
    """What became of an event: its receipts, the newest first. `incomplete` names places that were not fully searched."""

    event_id: str
    status: str
    receipts: List[Dict[str, str]]
    incomplete: List[str]


class Company(TypedDict):
    """An organisation that visited. Unknown texts are empty. Newer services may send further fields."""

    company_id: str
    name: str
    domain: str
    industry: str
    industry_category: str
    classification: str
    country_code: str
    first_seen: str
    last_seen: str
    events: int
    visits: int
    unique_ips: int
    heat: int
    quality: int
    tags: List[str]
    owner: str
    status: str


class IpidError(Exception):
    """A request that failed, or an event that was not delivered. It never contains the key.

    `code`: the cause, for programs. `detail`: the cause in words, which may change. `status`: the HTTP status, None when no answer
    came. `server_code`: the code as the service sent it. `request_id`: name it when you report a fault. `errors`: what is wrong with
    the request. `retry_after`: how many seconds the service asks to wait. `may_be_stored`: whether the service may have taken the
    request although no answer says so; to send its events again under their ids is harmless for 7 days.
    """

    def __init__(
        self,
        code: ErrorCode,
        detail: str,
        *,
        status: Optional[int] = None,
        server_code: Optional[str] = None,
        request_id: Optional[str] = None,
        errors: Sequence[Fault] = (),
        retry_after: Optional[float] = None,
        may_be_stored: bool = False,
    ) -> None:
        super().__init__(f"{detail} ({server_code or code}{'' if status is None else f', {status}'})")
        self.code: ErrorCode = code
        self.detail = detail
        self.status = status
        self.server_code = server_code
        self.request_id = request_id
        self.errors: Tuple[Fault, ...] = tuple(errors)
        self.retry_after = retry_after
        self.may_be_stored = may_be_stored

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        if self.code in ("network", "timeout", "idempotency_key_in_use"):
            return True
        # The quota of a day is no matter of seconds.
        if self.status is None or self.code == "quota_exceeded":
            return False
        if self.status in (408, 429) or self.status >= 500:
            return True
        return self.code == "unexpected_answer" and self.status < 300

    def _with(self, *, errors: Optional[Sequence[Fault]] = None, may_be_stored: Optional[bool] = None) -> IpidError:
        return IpidError(
            self.code,
            self.detail,
            status=self.status,
            server_code=self.server_code,
            request_id=self.request_id,
            errors=self.errors if errors is None else errors,
            retry_after=self.retry_after,
            may_be_stored=self.may_be_stored if may_be_stored is None else may_be_stored,
        )


class FailedEvent(NamedTuple):
    """An event that was not delivered, with the id and the time that it was sent with: given to `track`, it is the same event."""

    event: Mapping[str, Any]
    error: IpidError


class Counts(NamedTuple):
    """Events since the client was made. `queued`: in the queue or on their way."""

    delivered: int
    failed: int
    queued: int


# ---------------------------------------------------------------------------------------------------------------- requests

_BACKOFF_FIRST = 0.5
_BACKOFF_MAX = 30.0
# A server may close an idle connection after 10 seconds.
_IDLE_MAX = 5.0
_AGENT = f"ipid-client-python/{__version__} python/{platform.python_version()}"
_NDJSON = "application/x-ndjson"
# Where the API takes `Idempotency-Key`. A bulk lookup with `mode=sync` ignores it, and creates nothing.
_KEYED_PATHS = frozenset(("/v1/bulk", "/v1/ingest/batch"))


_T = TypeVar("_T")


class _Answer(NamedTuple):
    status: int
    text: str

    def json(self) -> Any:
        try:
            return json.loads(self.text)
        except ValueError:
            raise IpidError(
                "unexpected_answer", "the answer is not JSON", status=self.status, may_be_stored=True
            ) from None


class _FileBody:
    """A file as the body of one attempt: `size` bytes, even if it grows meanwhile."""

    def __init__(self, path: Union[str, os.PathLike[str]], size_max: Optional[int]) -> None:
        self._file = open(path, "rb")
        size = os.fstat(self._file.fileno()).st_size
        self.size = size if size_max is None else min(size, size_max)
        self._left = self.size

    def read(self, size: int) -> bytes:
        part = self._file.read(min(size, self._left))
        if not part and self._left > 0:
            raise OSError("the file became shorter")
        self._left -= len(part)
        return part

    def close(self) -> None:
        self._file.close()


class _Transport:
    """Makes requests with the key. No error of it contains the key."""

    def __init__(self, key: str, url: str, timeout: float) -> None:
        key = key.strip() if isinstance(key, str) else ""
        # Neither message quotes its value, because both may contain a secret.
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            raise ValueError("key must be an API key: ipid_ and 64 characters")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or parts.scheme not in ("http", "https"):
            raise ValueError("url must be the address of ipid, such as https://ipid.example.com")
        if parts.username is not None or parts.password is not None:
            raise ValueError("url must not contain a user or a password")
        self._key = key
        self._secure = parts.scheme == "https"
        self._host, self._port = host, port
        self._base = parts.path.rstrip("/")
        self._timeout = timeout
        self._tls = ssl.create_default_context() if self._secure else None
        self._lock = threading.Lock()
        self._idle: List[Tuple[float, http.client.HTTPConnection]] = []

    def after_fork(self) -> None:
        """Connections stay with the parent."""
        self._lock = threading.Lock()
        self._idle = []

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout)

    def _take(self, timeout: float) -> http.client.HTTPConnection:
        now = time.monotonic()
        with self._lock:
            while self._idle:
                since, connection = self._idle.pop()
                if now - since < _IDLE_MAX and connection.sock is not None:
                    return connection
                connection.close()
        return self._connect(timeout)

    def once(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        fresh: bool = False,
    ) -> _Answer:
        """One attempt. Raises IpidError unless the answer is whole and 200 to 299."""
        timeout = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        connection = self._connect(timeout) if fresh else self._take(timeout)
        keep = False
        try:
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(timeout)
            sent = {"user-agent": _AGENT, "accept": "application/json", **(headers or {}), "x-api-key": self._key}
            if isinstance(body, _FileBody):
                sent["content-length"] = str(body.size)
            try:
                connection.request(method, self._base + path, body=body, headers=sent)
            except (BrokenPipeError, ConnectionResetError):
                # A server may answer and close before it has read a large body.
                if not fresh:
                    raise
            response = connection.getresponse()
            parts: List[bytes] = []
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                if connection.sock is not None:
                    connection.sock.settimeout(left)
                part = response.read1(65_536)
                if not part:
                    break
                parts.append(part)
            if response.length:
                raise http.client.IncompleteRead(b"")
            # Otherwise the connection takes no further request.
            response.close()
            keep = not response.will_close
            text = b"".join(parts).decode("utf-8", "replace")
            if 200 <= response.status < 300:
                return _Answer(response.status, text)
            raise _error_of(response, text)
        except TimeoutError:  # socket.timeout is another name of it from Python 3.10
            raise _late(timeout) from None
        except OSError as error:
            if "timed out" in str(error):
                raise _late(timeout) from None
            refused = isinstance(error, ConnectionRefusedError)
            cause = type(error).__name__
            raise IpidError("network", f"no whole answer: {cause}", may_be_stored=not refused) from None
        except http.client.HTTPException as error:
            raise IpidError("network", f"no whole answer: {type(error).__name__}", may_be_stored=True) from None
        finally:
            if keep and not fresh:
                with self._lock:
                    self._idle.append((time.monotonic(), connection))
            else:
                connection.close()

    def with_retries(
        self,
        within: float,
        read: Callable[[_Answer], _T],
        method: str,
        path: str,
        *,
        open_body: Callable[[], Any] = lambda: None,
        repeats: Literal["always", "unless_taken"] = "always",
        **request: Any,
    ) -> _T:
        """Makes attempts until one succeeds, the failure is not temporary, or the next wait would pass `within` seconds.

        `unless_taken`: only after answers and failures that say that the service has not taken the request.
        """
        deadline = time.monotonic() + within
        attempt = 0
        while True:
            body = open_body()
            try:
                return read(self.once(method, path, body=body, **request))
            except IpidError as error:
                wait = _wait_of(error, attempt)
                if repeats == "unless_taken" and not _is_not_taken(error):
                    raise
                if not error.is_temporary or time.monotonic() + wait > deadline:
                    raise
            finally:
                if hasattr(body, "close"):
                    body.close()
            attempt += 1
            time.sleep(wait)


def _is_not_taken(error: IpidError) -> bool:
    """A proxy may send other errors after the service has taken the request."""
    return error.status == 429 or (error.code == "network" and not error.may_be_stored)


def _late(timeout: float) -> IpidError:
    return IpidError("timeout", f"no whole answer within {timeout:g} s", may_be_stored=True)


def _wait_of(error: IpidError, attempt: int) -> float:
    """Seconds until the next attempt: full jitter, and at least what the service asks for."""
    if error.retry_after is None:
        return random.random() * min(_BACKOFF_MAX, _BACKOFF_FIRST * 2.0 ** min(attempt, 30))
    return error.retry_after + random.random() * min(_BACKOFF_FIRST, error.retry_after)


def _error_of(response: http.client.HTTPResponse, text: str) -> IpidError:
    status = response.status
    facts: Dict[str, Any] = {
        "status": status,
        "request_id": response.getheader("x-request-id"),
        "retry_after": _retry_after_of(response),
        # An error of 400 to 499 says that nothing was taken; one of the server may follow a write.
        "may_be_stored": status >= 500,
    }
    try:
        body = json.loads(text)
        server_code, detail, errors = body["code"], body["detail"], body.get("errors", [])
        if not isinstance(server_code, str) or not isinstance(detail, str) or not isinstance(errors, list):
            raise TypeError
    except (ValueError, TypeError, KeyError, AttributeError):
        return IpidError("unexpected_answer", "the answer is not one of ipid", **facts)
    code = server_code if server_code in API_ERROR_CODES else "unknown_code"
    faults = [fault for fault in errors if _is_fault(fault)]
    return IpidError(cast(ErrorCode, code), detail, server_code=server_code, errors=faults, **facts)


def _is_fault(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("path"), str) and isinstance(value.get("message"), str)


def _retry_after_of(response: http.client.HTTPResponse) -> Optional[float]:
    """`retry-after` in seconds or as a date (RFC 9110, section 10.2.3); without it, `ratelimit-reset` of a 429."""
    after = response.getheader("retry-after")
    if after is not None:
        if re.fullmatch(r"[0-9]{1,9}", after):
            return float(after)
        try:
            at = email.utils.parsedate_to_datetime(after)
            return max(0.0, at.timestamp() - time.time())
        except (TypeError, ValueError):
            pass
    reset = response.getheader("ratelimit-reset")
    if response.status == 429 and reset is not None and re.fullmatch(r"[0-9]{1,9}", reset):
        return float(reset)
    return None


# ------------------------------------------------------------------------------------------------------------------- queue

_EVENTS_MAX = 100
_BODY_MAX_BYTES = 1_048_576
_HEAD, _TAIL = '{"events":[', "]}"
_EVENTS_MAX_BYTES = _BODY_MAX_BYTES - len(_HEAD) - len(_TAIL)


class _Group:
    """Events that a `flush` waits for: those between two calls of it."""

    def __init__(self) -> None:
        self.open = 0


class _Waiting:
    """An event from `track` until its end. Its JSON is made once, so that a repeat is a repeat."""

    __slots__ = ("json", "size", "queued_at", "group", "is_awaited", "end", "may_be_stored")

    def __init__(self, text: str, group: _Group, is_awaited: bool) -> None:
        self.json = text
        self.size = len(text)
        self.queued_at = time.monotonic()
        self.group = group
        self.is_awaited = is_awaited
        self.end: Union[EventResult, IpidError, None] = None
        # Whether the service may have taken it although no answer says so.
        self.may_be_stored = False


class _Batch(NamedTuple):
    """Events to send; with an error, events to fail."""

    events: List[_Waiting]
    error: Optional[IpidError] = None


class _Queue:
    """Sends events in batches, in threads of its own.

    Every event ends once: delivered, or failed with an error. A failed request is repeated with the same ids, so a repeat counts once.

    While one batch waits for its next attempt, no other one is sent either: attempts are counted for the queue, not for a batch. When an
    event reaches its deadline during such a pause, one attempt is made before the end of the pause. If that fails too, events whose
    deadline comes before the end of the pause fail without a request. An answer that concerns every event, such as that of an unknown
    key, fails the whole queue.
    """

    def __init__(
        self,
        transport: _Transport,
        *,
        batch_events: int,
        batch_bytes: int,
        batch_seconds: float,
        queue_events: int,
        queue_bytes: int,
        requests_max: int,
        retry_seconds: float,
        on_delivered: Optional[Callable[[List[EventResult]], None]],
        on_failed: Optional[Callable[[List[FailedEvent]], None]],
    ) -> None:
        self._transport = transport
        self._batch_events = batch_events
        self._batch_bytes = batch_bytes
        self._batch_seconds = batch_seconds
        self._queue_events = queue_events
        self._queue_bytes = queue_bytes
        self._requests_max = requests_max
        self._retry_seconds = retry_seconds
        self._on_delivered = on_delivered
        self._on_failed = on_failed or _warn
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._waiting: Deque[_Waiting] = deque()
        self._on_the_way: Set[_Waiting] = set()
        self._waiting_bytes = 0
        self._held_bytes = 0
        self._group = _Group()
        self._groups: Set[_Group] = set()
        self._paused_until = 0.0
        self._paused_by: Optional[IpidError] = None
        # The attempt before the end of the pause.
        self._early: Literal["none", "running", "failed"] = "none"
        # Rounds of attempts that failed since the service answered.
        self._attempts = 0
        self._threads: List[threading.Thread] = []
        self._delivered = 0
        self._failed = 0

    def after_fork(self) -> None:
        """The parent delivers what it has; a child begins with nothing, and without its threads."""
        self._transport.after_fork()
        self._begin()

    def counts(self) -> Counts:
        with self._changed:
            return Counts(self._delivered, self._failed, self._held())

    def _held(self) -> int:
        return len(self._waiting) + len(self._on_the_way)

    def add(self, event: Mapping[str, Any]) -> bool:
        try:
            text = _json_of(event)
            with self._changed:
                if self._is_closed:
                    raise _closed()
                if self._fits(len(text)):
                    self._put(text, is_awaited=False)
                    return True
            event = json.loads(text)
            raise IpidError("client_queue_full", "the queue of this client is full")
        except IpidError as error:
            with self._changed:
                self._failed += 1
            self._report(self._on_failed, [FailedEvent(event, error)])
            return False

    def deliver(self, event: Mapping[str, Any]) -> EventResult:
        text = _json_of(event)
        with self._changed:
            while not self._is_closed and not self._fits(len(text)):
                self._changed.wait()
            if self._is_closed:
                raise _closed()
            waiting = self._put(text, is_awaited=True)
            while waiting.end is None:
                self._changed.wait()
        if isinstance(waiting.end, IpidError):
            raise waiting.end
        return waiting.end

    def _fits(self, size: int) -> bool:
        held = self._held()
        return held == 0 or (held < self._queue_events and self._held_bytes + size <= self._queue_bytes)

    def _put(self, text: str, is_awaited: bool) -> _Waiting:
        self._start_threads()
        waiting = _Waiting(text, self._group, is_awaited)
        self._waiting.append(waiting)
        self._waiting_bytes += waiting.size
        self._held_bytes += waiting.size
        waiting.group.open += 1
        self._groups.add(waiting.group)
        self._changed.notify_all()
        return waiting

    def _start_threads(self) -> None:
        """Raises IpidError when no thread runs. The next event tries again to start those that are missing."""
        while len(self._threads) < self._requests_max:
            thread = threading.Thread(target=self._work, name="ipid", daemon=True)
            try:
                thread.start()
            except (RuntimeError, MemoryError) as error:
                if self._threads:
                    return
                raise IpidError("network", f"no thread can be started: {error}") from None
            self._threads.append(thread)

    def flush(self, timeout: Optional[float]) -> bool:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            groups = set(self._groups)
            if self._group.open > 0:
                self._group = _Group()
            self._changed.notify_all()
            while any(group.open > 0 for group in groups):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def close(self, timeout: float) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if not self.flush(timeout):
            self.abandon()

    def abandon(self) -> None:
        """Fails all events now."""
        with self._changed:
            waiting, on_the_way = list(self._waiting), list(self._on_the_way)
            self._waiting.clear()
            self._waiting_bytes = 0
        for events, may_be_stored in ((on_the_way, True), (waiting, False)):
            detail = "the time at the end was not enough"
            error = IpidError("not_delivered_in_time", detail, may_be_stored=may_be_stored)
            self._fail([(event, error) for event in events])

    def _work(self) -> None:
        while True:
            batch = self._next_batch()
            if batch is None:
                return
            if batch.error is None:
                self._deliver(batch.events)
            else:
                self._fail([(event, batch.error) for event in batch.events])

    def _next_batch(self) -> Optional[_Batch]:
        """Waits for a batch; None when the client was closed."""
        with self._changed:
            while True:
                wait: Optional[float] = None
                now = time.monotonic()
                if not self._waiting:
                    if self._is_closed:
                        return None
                elif now < self._paused_until:
                    wait = min(self._paused_until, self._deadline_of(self._waiting[0])) - now
                    if wait <= 0 and self._early == "running":
                        wait = None
                    elif wait <= 0 and self._early == "failed":
                        return self._take_expired(now)
                    elif wait <= 0:
                        return _Batch(self._take_batch())
                else:
                    oldest = self._waiting[0]
                    wait = oldest.queued_at + self._batch_seconds - now
                    is_full = len(self._waiting) >= self._batch_events or self._waiting_bytes >= self._batch_bytes
                    if is_full or oldest.group is not self._group or self._is_closed or wait <= 0:
                        return _Batch(self._take_batch())
                self._changed.wait(None if wait is None else min(wait, threading.TIMEOUT_MAX))

    def _take_batch(self) -> List[_Waiting]:
        batch: List[_Waiting] = []
        size = 0
        while self._waiting and len(batch) < self._batch_events:
            if batch and size + self._waiting[0].size + 1 > self._batch_bytes:
                break
            event = self._withdraw()
            size += event.size + 1
            batch.append(event)
        return batch

    def _take_expired(self, now: float) -> _Batch:
        """Events whose time is over: they fail without a request."""
        expired: List[_Waiting] = []
        while self._waiting and self._deadline_of(self._waiting[0]) <= now:
            expired.append(self._withdraw())
        return _Batch(expired, cast(IpidError, self._paused_by)._with(may_be_stored=False))

    def _withdraw(self) -> _Waiting:
        """Takes the oldest event out of the queue."""
        event = self._waiting.popleft()
        self._waiting_bytes -= event.size
        self._on_the_way.add(event)
        return event

    def _deadline_of(self, event: _Waiting) -> float:
        return event.queued_at + self._retry_seconds

    def _deliver(self, batch: List[_Waiting]) -> None:
        """Sends a batch until each of its events has ended.

        Events that the service names as wrong fail, and the others are sent again; when it refuses the body without a name, halves are
        sent. After a temporary error only the events fail whose time is over.
        """
        parts = [batch]
        while parts:
            part = parts.pop()
            try:
                self._succeed(part, self._send(part))
            except IpidError as error:
                faults = _faults_of(error, len(part))
                if faults:
                    self._fail([(part[i], error._with(errors=faults[i])) for i in sorted(faults)])
                    others = [event for i, event in enumerate(part) if i not in faults]
                    if others:
                        parts.append(others)
                elif len(part) > 1 and error.status in (400, 413, 422) and error.code != "unexpected_answer":
                    half = (len(part) + 1) // 2
                    parts += [part[half:], part[:half]]
                elif error.is_temporary:
                    now = time.monotonic()
                    others = [event for event in part if event.end is None and now < self._deadline_of(event)]
                    self._fail([(event, error) for event in part if event not in others])
                    if others:
                        parts.append(others)
                elif _is_of_queue(error):
                    with self._changed:
                        queued = [self._withdraw() for _ in range(len(self._waiting))]
                    failed = [*part, *(event for rest in parts for event in rest), *queued]
                    parts = []
                    self._fail([(event, error) for event in failed])
                else:
                    self._fail([(event, error) for event in part])
            except Exception as error:  # The thread lives on, and no event is lost silently.
                failure = IpidError("network", f"unexpected failure: {type(error).__name__}", may_be_stored=True)
                self._fail([(event, failure) for event in part])

    def _send(self, part: List[_Waiting]) -> List[EventResult]:
        """The results of a batch, after all attempts that it needs."""
        body = (_HEAD + ",".join(event.json for event in part) + _TAIL).encode()
        headers = {"content-type": "application/json"}
        deadline = self._deadline_of(part[0])
        while True:
            with self._changed:
                self._until_resumed(part, deadline)
                started = time.monotonic()
                is_early = started < self._paused_until
                # Abandoned events have ended.
                if is_early and (part[0].end is not None or self._early == "failed"):
                    raise cast(IpidError, self._paused_by)._with(may_be_stored=False)
                self._early = "running" if is_early else "none"
                attempt = self._attempts
            failure: Optional[IpidError] = None
            try:
                return _results_of(self._transport.once("POST", "/v1/ingest", body=body, headers=headers), part)
            except IpidError as error:
                failure = error
                for event in part:
                    event.may_be_stored = event.may_be_stored or error.may_be_stored
                if not error.is_temporary or part[0].end is not None or started >= deadline:
                    raise
            finally:
                self._note_attempt(failure, attempt, is_early)

    def _note_attempt(self, failure: Optional[IpidError], attempt: int, is_early: bool) -> None:
        """Begins a pause after a temporary failure. Another answer ends the pause that the attempt was made in."""
        with self._changed:
            if failure is not None and failure.is_temporary:
                # Requests that were on their way together are one round.
                if self._attempts == attempt:
                    self._attempts += 1
                self._paused_until = max(self._paused_until, time.monotonic() + _wait_of(failure, attempt))
                self._paused_by = failure
            else:
                self._attempts = 0
                if is_early:
                    self._paused_until = 0.0
            if is_early:
                self._early = "failed" if time.monotonic() < self._paused_until else "none"
            self._changed.notify_all()

    def _until_resumed(self, part: List[_Waiting], deadline: float) -> None:
        """Waits for the end of the pause, but at most until the deadline and the end of an early attempt."""
        while part[0].end is None:
            now = time.monotonic()
            left = min(self._paused_until, deadline) - now
            if left > 0:
                self._changed.wait(min(left, threading.TIMEOUT_MAX))
            elif now < self._paused_until and self._early == "running":
                self._changed.wait()
            else:
                return

    def _succeed(self, part: List[_Waiting], results: List[EventResult]) -> None:
        with self._changed:
            ends: List[Tuple[_Waiting, Union[EventResult, IpidError]]] = list(zip(part, results))
            ended = self._end(ends)
            self._delivered += len(ended)
        if ended and self._on_delivered is not None:
            self._report(self._on_delivered, results)
        self._release(part)

    def _fail(self, failures: List[Tuple[_Waiting, IpidError]]) -> None:
        with self._changed:
            ends: List[Tuple[_Waiting, Union[EventResult, IpidError]]] = [
                (event, error._with(may_be_stored=event.may_be_stored or error.may_be_stored))
                for event, error in failures
            ]
            ended = self._end(ends)
            self._failed += len(ended)
        # The caller of `deliver` has the error.
        unseen = [
            FailedEvent(json.loads(event.json), cast(IpidError, event.end)) for event in ended if not event.is_awaited
        ]
        if unseen:
            self._report(self._on_failed, unseen)
        self._release(ended)

    def _end(self, ends: List[Tuple[_Waiting, Union[EventResult, IpidError]]]) -> List[_Waiting]:
        """Those that had not ended before."""
        ended = []
        for event, end in ends:
            if event.end is None:
                event.end = end
                ended.append(event)
        return ended

    def _release(self, events: List[_Waiting]) -> None:
        """Makes room, after the callbacks: `flush` returns when they have run."""
        with self._changed:
            for event in events:
                if event.size < 0:
                    continue
                self._on_the_way.discard(event)
                self._held_bytes -= event.size
                event.size = -1
                event.group.open -= 1
                if event.group.open == 0:
                    self._groups.discard(event.group)
            self._changed.notify_all()

    @staticmethod
    def _report(call: Callable[[Any], None], ends: Any) -> None:
        """A callback that raises stops no delivery."""
        try:
            call(ends)
        except Exception:
            log.exception("a callback of the client raised")


def _closed() -> IpidError:
    return IpidError("client_closed", "the client was closed")


def _json_of(event: Mapping[str, Any]) -> str:
    """The event as it is sent, in ASCII, with its id and its time."""
    try:
        if not isinstance(event, Mapping):
            raise TypeError("not an object")
        sent = dict(event)
        if sent.get("event_id") is None:
            sent["event_id"] = str(uuid.uuid4())
        if sent.get("timestamp") is None:
            sent["timestamp"] = datetime.datetime.now(datetime.timezone.utc)
        text = json.dumps(sent, default=_plain, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise IpidError("not_json", f"the event cannot be written as JSON: {error}") from None
    if len(text) > _EVENTS_MAX_BYTES:
        detail = f"the event has {len(text)} bytes, and a request takes {_EVENTS_MAX_BYTES}"
        raise IpidError("event_too_large", detail)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise TypeError("a time needs a time zone")
        return value.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(f"a {type(value).__name__} is no JSON")


def _results_of(answer: _Answer, part: List[_Waiting]) -> List[EventResult]:
    body = answer.json()
    results = body.get("results") if isinstance(body, dict) else None
    if isinstance(results, list) and len(results) == len(part):
        return cast(List[EventResult], results)
    detail = "the answer has not one result for each event"
    raise IpidError("unexpected_answer", detail, status=answer.status, may_be_stored=True)


def _is_of_queue(error: IpidError) -> bool:
    """Whether the answer concerns every event: the key is refused, or the quota is used."""
    return error.status == 401 or error.code == "quota_exceeded"


def _faults_of(error: IpidError, count: int) -> Dict[int, List[Fault]]:
    """The faults of the events of a request by their place in it, with paths from the event. The service names up to 20."""
    faults: Dict[int, List[Fault]] = {}
    if error.status == 422:
        for fault in error.errors:
            found = re.fullmatch(r"events\[([0-9]{1,3})\]\.?(.*)", fault["path"], re.DOTALL)
            if found is not None and int(found[1]) < count:
                faults.setdefault(int(found[1]), []).append({"path": found[2], "message": fault["message"]})
    return faults


def _warn(failed: List[FailedEvent]) -> None:
    log.warning("%d events were not delivered: %s", len(failed), failed[0].error)


# ------------------------------------------------------------------------------------------------------------------ client

_clients: Set[Client] = set()


class Client:
    """A client of ipid. Its methods may be called from any thread.

    `track` and `deliver` send events through a queue; every event ends once, as delivered or as failed. All other methods are requests of
    their own, repeated after 429, 5xx and broken connections; `request` repeats a POST more rarely. They raise IpidError.

    Call `close` before the process ends, or use `with`. At the end of the interpreter, or of a process of `multiprocessing`, the client
    delivers by itself. A process that is forked has a queue and connections of its own.

    `key`: an API key. It belongs on a server: never in a page or an app. `url`: the address of ipid.
    `batch_events`, `batch_bytes`: a request has at most this many events, and bytes of events; a larger event is sent alone.
    `batch_seconds`: an event waits at most this long for others. `queue_events`, `queue_bytes`: events in the queue and on their way.
    `requests_max`: requests with events at the same time, each in a thread. `request_timeout`: seconds that an answer takes at most;
    ten times this for an upload. `retry_seconds`: an event is tried until this long after `track`. `call_retry_seconds`: another request
    fails when its next attempt would be later than this. `exit_seconds`: how long the end of the interpreter, or `close`, waits for
    deliveries. `on_delivered` and `on_failed` are called in threads of the client.
    """

    def __init__(
        self,
        key: str,
        url: str,
        *,
        batch_events: int = _EVENTS_MAX,
        batch_bytes: int = 524_288,
        batch_seconds: float = 1.0,
        queue_events: int = 10_000,
        queue_bytes: int = 16_777_216,
        requests_max: int = 2,
        request_timeout: float = 30.0,
        retry_seconds: float = 600.0,
        call_retry_seconds: float = 60.0,
        exit_seconds: float = 10.0,
        on_delivered: Optional[Callable[[List[EventResult]], None]] = None,
        on_failed: Optional[Callable[[List[FailedEvent]], None]] = None,
    ) -> None:
        for name, value, least, most in (
            ("batch_events", batch_events, 1, _EVENTS_MAX),
            ("batch_bytes", batch_bytes, 1, _BODY_MAX_BYTES - 64),
            ("batch_seconds", batch_seconds, 0, None),
            ("queue_events", queue_events, 1, None),
            ("queue_bytes", queue_bytes, 1, None),
            ("requests_max", requests_max, 1, 32),
            ("request_timeout", request_timeout, 0.001, None),
            ("retry_seconds", retry_seconds, 0, None),
            ("call_retry_seconds", call_retry_seconds, 0, None),
            ("exit_seconds", exit_seconds, 0, None),
        ):
            if not value >= least or (most is not None and value > most):
                raise ValueError(f"{name} must be a number from {least}" + ("" if most is None else f" to {most}"))
        self._upload_timeout = 10 * request_timeout
        self._call_retry_seconds = call_retry_seconds
        self._exit_seconds = exit_seconds
        self._transport = _Transport(key, url, request_timeout)
        self._queue = _Queue(
            self._transport,
            batch_events=batch_events,
            batch_bytes=batch_bytes,
            batch_seconds=batch_seconds,
            queue_events=queue_events,
            queue_bytes=queue_bytes,
            requests_max=requests_max,
            retry_seconds=retry_seconds,
            on_delivered=on_delivered,
            on_failed=on_failed,
        )
        _clients.add(self)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def track(self, event: Mapping[str, Any]) -> bool:
        """Puts an event into the queue. It gets its `event_id` and `timestamp` here, unless it has them.

        Returns False when it failed at once, and `on_failed` has said why: the queue is full, the client is closed, or it is no event.
        """
        return self._queue.add(event)

    def deliver(self, event: Mapping[str, Any]) -> EventResult:
        """Puts an event into the queue, waiting while it is full, and returns when the service has taken the event.

        Raises IpidError when it was not delivered; `on_failed` is not called for it.
        """
        return self._queue.deliver(event)

    def flush(self, timeout: Optional[float] = None) -> bool:
        """Sends all waiting events now. Returns True when all events that were given before have ended, False after `timeout` seconds."""
        return self._queue.flush(timeout)

    def close(self, timeout: Optional[float] = None) -> None:
        """Takes no further events, and delivers those that wait. Events that are left after `timeout` (default: `exit_seconds`) fail."""
        self._queue.close(self._exit_seconds if timeout is None else timeout)
        _clients.discard(self)

    @property
    def counts(self) -> Counts:
        return self._queue.counts()

    def lookup(self, ip: str, **options: Any) -> Lookup:
        """Looks an address up. Nothing is stored.

        Options: `fields`, `redact`, `providers` ({"allow": [], "deny": []}), `deadline_ms`, `quality_min`.
        """
        return cast(Lookup, self._call("POST", "/v1/lookup", {**options, "ip": ip}))

    @overload
    def bulk(self, ips: Sequence[str], *, mode: Literal["sync"] = "sync", **options: Any) -> List[LookupResult]: ...

    @overload
    def bulk(
        self,
        ips: Sequence[str],
        *,
        mode: Literal["async"],
        label: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        **options: Any,
    ) -> AcceptedBulk: ...

    def bulk(
        self,
        ips: Sequence[str],
        *,
        mode: Literal["sync", "async"] = "sync",
        label: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        **options: Any,
    ) -> Union[List[LookupResult], AcceptedBulk]:
        """Looks up to 512 addresses up, and returns their results in the same order. Options as of `lookup`.

        With `mode="async"` returns a job at once, which `bulk_job` reads. `label`: a name for it. All attempts have one key, so they make one
        job. Give an `idempotency_key` of your own to send it again after an error, within 24 hours, without a second job.
        """
        is_async = mode == "async"
        if not is_async and (label is not None or idempotency_key is not None):
            raise ValueError('label and idempotency_key are for mode="async"')

        def read(answer: _Answer) -> Union[List[LookupResult], AcceptedBulk]:
            if is_async:
                return cast(AcceptedBulk, answer.json())
            lines = [line for line in answer.text.split("\n") if line != ""]
            if len(lines) == len(ips):
                return [_Answer(answer.status, line).json() for line in lines]
            detail = "the answer has not one line for each address"
            raise IpidError("unexpected_answer", detail, status=answer.status)

        body = json.dumps({**options, "ips": list(ips), **({} if label is None else {"label": label})}).encode()
        headers = {"content-type": "application/json"}
        if is_async:
            headers["idempotency-key"] = idempotency_key or str(uuid.uuid4())
        else:
            headers["accept"] = _NDJSON
        return self._transport.with_retries(
            self._call_retry_seconds, read, "POST", f"/v1/bulk?mode={mode}", open_body=lambda: body, headers=headers
        )

    def bulk_job(self, job_id: str) -> BulkJob:
        """A bulk lookup that was made with `mode="async"`. Its results are kept for 24 hours after its end."""
        return cast(BulkJob, self._call("GET", f"/v1/bulk/{_part(job_id)}"))

    def upload_file(
        self,
        path: Union[str, os.PathLike[str]],
        *,
        content_type: Optional[str] = None,
        map: Optional[Mapping[str, str]] = None,
        date_order: Optional[Literal["dmy", "mdy"]] = None,
        label: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> AcceptedUpload:
        """Uploads a file of events, NDJSON or CSV, plain or as `.gz`. It is read while it is sent.

        `content_type`: by default that of the name, `.csv` or else NDJSON. CSV: `map` renames columns to keys of an event, and `date_order`
        says how to read 01/02/2026. `label`: a name for the job. All attempts have one key, so the file becomes one job. Give an
        `idempotency_key` of your own to send it again after an error, within 24 hours, without a second job. The bytes are sent that the
        file has at the first attempt. Raises OSError when the file cannot be opened.
        """
        name = os.path.basename(os.fspath(path)).lower()
        is_gzip = name.endswith(".gz")
        if content_type is None:
            content_type = "text/csv" if (name[:-3] if is_gzip else name).endswith(".csv") else _NDJSON
        columns = [f"{column}={key}" for column, key in (map or {}).items()]
        query = _query_of({"map": columns, "date_order": date_order, "label": label})
        headers = {"content-type": content_type, "idempotency-key": idempotency_key or str(uuid.uuid4())}
        if is_gzip:
            headers["content-encoding"] = "gzip"
        size: Optional[int] = None

        def open_body() -> _FileBody:
            # A repeat sends no more than the first attempt, so it is the same upload.
            nonlocal size
            body = _FileBody(path, size)
            size = body.size
            return body

        return self._transport.with_retries(
            self._call_retry_seconds,
            lambda answer: cast(AcceptedUpload, answer.json()),
            "POST",
            f"/v1/ingest/batch{query}",
            open_body=open_body,
            headers=headers,
            timeout=self._upload_timeout,
            fresh=True,
        )

    def job(self, job_id: str) -> Job:
        """A batch job."""
        return cast(Job, self._call("GET", f"/v1/ingest/batch/{_part(job_id)}"))

    def wait_for_job(
        self, job_id: str, timeout: Optional[float] = None, on_progress: Optional[Callable[[Job], None]] = None
    ) -> Job:
        """The job when it has ended: `completed` or `failed`. Raises IpidError `timeout` when that takes too long."""
        deadline = None if timeout is None else time.monotonic() + timeout
        wait = 0.25
        while True:
            job = self.job(job_id)
            if on_progress is not None:
                on_progress(job)
            if job["status"] in ("completed", "failed"):
                return job
            if deadline is not None and time.monotonic() + wait > deadline:
                raise IpidError("timeout", f"job {job_id} is {job['status']}")
            time.sleep(wait)
            wait = min(5.0, wait * 1.5)

    def event(self, event_id: str) -> EventFate:
        """What became of an event."""
        return cast(EventFate, self._call("GET", f"/v1/events/{_part(event_id)}"))

    def companies(self, **filters: Any) -> Iterator[Company]:
        """All companies of a filter, page after page, in the order of their ids.

        Filters are those of `GET /v1/companies`, such as `days=30, country=["DE", "AT"], visits_min=3`; `where` takes an expression and
        `segment` the name of a saved one. `limit` is the size of a page.
        """
        cursor: Optional[str] = None
        while True:
            page = self._call("GET", f"/v1/companies{_query_of({**filters, 'cursor': cursor})}")
            yield from page["companies"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def company(self, company_id: str, days: Optional[int] = None) -> Dict[str, Any]:
        """A company and its last days: 1 to 366, default 30."""
        path = f"/v1/companies/{_part(company_id)}{_query_of({'days': days})}"
        return cast(Dict[str, Any], self._call("GET", path))

    def request(
        self,
        method: Literal["GET", "POST"],
        path: str,
        body: Any = None,
        *,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Any:
        """Any other request of the API, with its key and its errors. `body` is sent as JSON, `headers` are further ones.

        A GET is repeated like all requests. A POST is repeated only when the service has not taken it, after 429 or a refused connection,
        unless it has an `idempotency-key`. On paths that take such a key it gets one here.
        """
        # Names in lower case, so that each header is sent once.
        more = {name.lower(): value for name, value in (headers or {}).items()}
        if method == "POST" and path.split("?")[0] in _KEYED_PATHS:
            more.setdefault("idempotency-key", str(uuid.uuid4()))
        is_repeatable = method == "GET" or "idempotency-key" in more
        return self._call(method, path, body, headers=more, repeats="always" if is_repeatable else "unless_taken")

    def _call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Optional[Mapping[str, str]] = None,
        repeats: Literal["always", "unless_taken"] = "always",
    ) -> Any:
        data = None if body is None else json.dumps(body).encode()
        sent = {**({} if data is None else {"content-type": "application/json"}), **(headers or {})}
        return self._transport.with_retries(
            self._call_retry_seconds,
            _Answer.json,
            method,
            path,
            open_body=lambda: data,
            headers=sent,
            repeats=repeats,
        )


def _part(text: str) -> str:
    return quote(text, safe="")


def _query_of(values: Mapping[str, Any]) -> str:
    """The query of a path, with its question mark; "" when it has no value. Lists are repeated."""
    pairs = [
        (name, one)
        for name, value in values.items()
        for one in (value if isinstance(value, (list, tuple)) else [value])
        if one is not None
    ]
    return f"?{urlencode(pairs, quote_via=quote)}" if pairs else ""


@atexit.register
def _at_exit() -> None:
    """The threads of clients still run here."""
    for client in list(_clients):
        client.close()


def _after_fork() -> None:
    for client in _clients:
        client._queue.after_fork()


def _finalize_at_exit(_: object = None) -> None:
    """A process of `multiprocessing` runs these, and not `atexit`."""
    multiprocessing.util.Finalize(None, _at_exit, exitpriority=0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
# Such a process forgets the finalizers of its parent before it calls this. One that imports this file later is past that.
multiprocessing.util.register_after_fork(_finalize_at_exit, _finalize_at_exit)
_finalize_at_exit()
