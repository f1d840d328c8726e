#!/usr/bin/env python3
"""Your self-play, training or evaluation program as a RingRift workload.

One file, Python 3.9 or newer, standard library only: copy it next to your program.

    import ringrift_workload

    workload = ringrift_workload.Workload("my-trainer", "1.0")

    @workload.kind("training")
    def train(job):
        rows = load(job.input("samples"))               # a path; its SHA-256 was checked by the worker
        for step in range(1000):
            job.progress(step, total=1000)              # the heartbeat; stops the job here if it was cancelled
            loss = model.step(rows)
        job.write("model.bin", model.to_bytes(), kind="model", rows=len(rows))
        return {"loss": loss}                           # the metrics of the result

    workload.run()

What holds:

- A worker starts the program and gives it jobs on standard input, one after the other. ``print`` goes to the log:
  standard output belongs to the protocol, and this file keeps it for itself.
- ``job.progress`` may be called as often as you like; it speaks a few times a second at most. When the job was cancelled
  it raises ``Cancelled``: let it pass, or catch it, write a checkpoint and raise it again.
- ``job.write`` and ``job.create`` put a file on the disk whole or not at all, and only then tell the worker.
- ``BadInput`` says that the job is wrong and will stay wrong; any other exception says that it may work another time. A
  ``MemoryError`` or a full disk is told as what it is.
- The program ends when the worker says so, and when the worker is gone.

Try it without a cluster: ``ringrift workload check -- python3 my_trainer.py``.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import queue
import random
import sys
import threading
import time
import traceback
from typing import (
    Any,
    BinaryIO,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NoReturn,
    Optional,
    Sequence,
    Type,
    TypeVar,
    Union,
    overload,
)

__all__ = ["BadInput", "Cancelled", "Job", "Workload", "EXIT_BAD_INPUT", "EXIT_PREEMPTED", "PROTOCOL_VERSION"]

PROTOCOL_VERSION = 1
#: How a program ends when it cannot say it any more: what it was given is wrong for ever, or it was told to leave.
EXIT_BAD_INPUT = 64
EXIT_PREEMPTED = 75

_PROGRESS_EVERY_SECONDS = 0.2
_MOST_TEXT = 4000
_MOST_BOARD_LINES = 64
_MOST_BOARD_CHARS = 128
_SHORT_OF = {errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE}

T = TypeVar("T")
Metrics = Mapping[str, Union[int, float]]
Handler = Callable[["Job"], Optional[Metrics]]


class BadInput(Exception):
    """The job, or what it refers to, is wrong and stays wrong: nobody should try it again."""


class Cancelled(BaseException):
    """The job is to end. Not an ``Exception``, so that a broad ``except`` in a training loop does not swallow it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Job:
    """One job: what it asks for, and what can be said about it."""

    def __init__(self, message: Mapping[str, Any], say: Callable[[Mapping[str, Any]], None]) -> None:
        self.id: str = message["job_id"]
        self.kind: str = message["kind"]
        self.config_key: str = message["config_key"]
        self.attempt: int = message["attempt"]
        #: Grows with every holder of the job. Write it into what you put anywhere but the output folder.
        self.fence: int = message["fence"]
        self.seed: int = message["seed"]
        #: Unix seconds, or None.
        self.deadline: Optional[float] = message.get("deadline")
        self.parameters: Dict[str, Any] = message["parameters"]
        self.inputs: List[Dict[str, str]] = message["inputs"]
        #: W3C trace context of the job, for spans of your own; None where it has none.
        self.traceparent: Optional[str] = message.get("traceparent")
        self.output_folder: str = message["output_folder"]
        self.scratch_folder: str = message["scratch_folder"]
        #: Randomness that follows from the job's seed alone.
        self.random = random.Random(self.seed)
        self._say = say
        self._reason: Optional[str] = None
        self._cancelled = threading.Event()
        self._said_at = float("-inf")

    @property
    def cancelled(self) -> bool:
        """Whether the job is to end; for loops that look by themselves."""
        return self._cancelled.is_set()

    def check_cancelled(self) -> None:
        """Raises ``Cancelled`` when the job is to end."""
        if self._cancelled.is_set():
            raise Cancelled(self._reason or "cancelled")

    def input(self, name: str) -> str:
        """The path of the input of that name."""
        for each in self.inputs:
            if each["name"] == name:
                return each["path"]
        known = ", ".join(each["name"] for each in self.inputs) or "none"
        raise BadInput(f'the job has no input "{name}"; it has: {known}')

    def has_input(self, name: str) -> bool:
        """Whether the job has an input of that name."""
        return any(each["name"] == name for each in self.inputs)

    def inputs_like(self, prefix: str) -> List[str]:
        """The paths of all inputs whose names start so, in the order of the job: ``samples-0000``, ``samples-0001``."""
        return [each["path"] for each in self.inputs if each["name"].startswith(prefix)]

    def random_of(self, *numbers: int) -> random.Random:
        """Randomness of one thing among many, such as game 17: the same in whichever job of this seed it is done."""
        return random.Random("/".join(str(number) for number in (self.seed, *numbers)))

    @overload
    def parameter(self, name: str, default: Optional[T] = None, *, kind: Type[T]) -> T: ...

    @overload
    def parameter(self, name: str, default: T, kind: Type[T]) -> T: ...

    @overload
    def parameter(self, name: str, default: Any = None, kind: None = None) -> Any: ...

    def parameter(self, name: str, default: Any = None, kind: Optional[type] = None) -> Any:
        """A parameter, of the given type if one is given; ``BadInput`` if it is missing without a default."""
        if name not in self.parameters:
            if default is None:
                raise BadInput(f'the job has no parameter "{name}"')
            return default
        value = self.parameters[name]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if kind is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            raise BadInput(f'parameter "{name}" is to be of type {kind.__name__}, not {value!r}')
        return value

    def progress(
        self,
        done: float,
        total: Optional[float] = None,
        message: Optional[str] = None,
        metrics: Optional[Metrics] = None,
        board: Optional[str] = None,
    ) -> None:
        """Says how far the job is, at most a few times a second; raises ``Cancelled`` when it is to end.

        ``board`` is a game that is played now, in lines of text: people see it on the page Games.
        """
        self.check_cancelled()
        now = time.monotonic()
        if now - self._said_at < _PROGRESS_EVERY_SECONDS:
            return
        self._said_at = now
        told: Dict[str, Any] = {"type": "progress", "job_id": self.id, "done": done}
        if total is not None:
            told["total"] = total
        if message is not None:
            told["message"] = message[:_MOST_TEXT]
        if metrics is not None:
            told["metrics"] = dict(metrics)
        if board is not None and board != "":
            told["board"] = {"lines": [line[:_MOST_BOARD_CHARS] for line in board.splitlines()[:_MOST_BOARD_LINES]]}
        self._say(told)

    def write(
        self,
        path: str,
        data: Union[bytes, str],
        kind: str,
        rows: Optional[int] = None,
        meta: Optional[Mapping[str, Any]] = None,
    ) -> str:
        """Writes an artifact into the output folder and tells the worker; gives its absolute path."""
        with self.create(path, kind=kind, rows=rows, meta=meta) as file:
            file.write(data.encode("utf-8") if isinstance(data, str) else data)
        return os.path.join(self.output_folder, path)

    @contextlib.contextmanager
    def create(
        self,
        path: str,
        kind: str,
        rows: Optional[int] = None,
        meta: Optional[Mapping[str, Any]] = None,
    ) -> Iterator[BinaryIO]:
        """A file to write an artifact into. It appears under its name, and is told, when the block ends well.

        It is read once more to be hashed, so that libraries which jump about in a file (zipfile, torch.save) may
        write it.
        """
        final = self._place(path)
        part = final + ".part"
        os.makedirs(os.path.dirname(final), exist_ok=True)
        try:
            with open(part, "w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                digest = hashlib.sha256()
                size = 0
                file.seek(0)
                for chunk in iter(lambda: file.read(1 << 20), b""):
                    digest.update(chunk)
                    size += len(chunk)
            os.rename(part, final)
            _sync_folder(os.path.dirname(final))
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
            raise
        told: Dict[str, Any] = {
            "type": "artifact",
            "job_id": self.id,
            "path": path,
            "sha256": digest.hexdigest(),
            "bytes": size,
            "kind": kind,
        }
        if rows is not None:
            told["rows"] = rows
        if meta is not None:
            told["meta"] = dict(meta)
        self._say(told)

    def pairs(self, candidate: str, opponent: str, blocks: Sequence[Mapping[str, Any]]) -> None:
        """Match results since the last call: ``[{"opening": 17, "scores": [1, 0.5]}, ...]``.

        A block is one opening, played once with the candidate in every seat; ``scores`` are the candidate's.
        """
        if blocks:
            self._say(
                {
                    "type": "pairs",
                    "job_id": self.id,
                    "candidate": candidate,
                    "opponent": opponent,
                    "blocks": [dict(block) for block in blocks],
                }
            )

    def position(
        self,
        board: str,
        turn: int,
        legal_moves: Sequence[str],
        *,
        players: int = 2,
        winner: Optional[int] = None,
        move: Optional[str] = None,
        title: Optional[str] = None,
        rules: Optional[str] = None,
    ) -> None:
        """Answers a job of the kind ``play``: the position after ``moves``, and after ``move`` where one was chosen.

        ``board`` is what a person sees. ``turn`` and ``winner`` are seats, from 0; no legal moves mean that the game is
        over, and no winner then means a draw. ``move`` is the move that this program chose, if ``reply`` asked for one.
        """
        told: Dict[str, Any] = {
            "title": title,
            "rules": rules,
            "board": board,
            "players": players,
            "turn": turn,
            "legal_moves": list(legal_moves),
            "winner": winner,
            "move": move,
        }
        known = {key: value for key, value in told.items() if value is not None}
        self.write("position.json", _json(known), kind="position")

    def _place(self, path: str) -> str:
        parts = path.split("/")
        if os.path.isabs(path) or any(part in ("", ".", "..") for part in parts):
            raise ValueError(f"an artifact lies inside the output folder, which {path!r} does not")
        return os.path.join(self.output_folder, *parts)

    def _cancel(self, reason: str) -> None:
        self._reason = reason
        self._cancelled.set()


def _plain(value: Any) -> Any:
    """Numbers of NumPy and of others become numbers of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent: use numbers, texts, lists and dicts")


def _json(message: Mapping[str, Any]) -> bytes:
    # A number that is none (NaN) is no JSON: better an exception here than a broken line there.
    return json.dumps(message, allow_nan=False, separators=(",", ":"), default=_plain).encode("utf-8")


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Workload:
    """A program that does jobs of one or more kinds."""

    def __init__(
        self,
        name: str,
        version: str,
        deterministic: bool = False,
        config_keys: Optional[Sequence[str]] = None,
        capabilities: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._name = name
        self._version = version
        self._capabilities: Dict[str, Any] = {"deterministic": deterministic, **(capabilities or {})}
        if config_keys is not None:
            self._capabilities["config_keys"] = list(config_keys)
        self._kinds: Dict[str, Handler] = {}
        self._examples: List[Dict[str, Any]] = []
        self._jobs: "queue.Queue[Optional[Mapping[str, Any]]]" = queue.Queue()
        self._lock = threading.Lock()
        self._current: Optional[Job] = None
        self._leaving = False
        self._output: Optional[BinaryIO] = None

    def kind(self, name: str, example: Optional[Mapping[str, Any]] = None) -> Callable[[Handler], Handler]:
        """Marks the function that does jobs of this kind; what it returns are the metrics of the result.

        ``example`` is a tiny job for ``ringrift workload check``: ``config_key``, ``parameters``, ``long_parameters``
        (that make it run for more than ten seconds) and ``inputs`` (``[{"name": ..., "artifact_kind": ...}]``).
        """

        def mark(handler: Handler) -> Handler:
            self._kinds[name] = handler
            if example is not None:
                self._examples.append({"kind": name, **example})
            return handler

        return mark

    def run(self) -> NoReturn:
        """Does jobs until the worker has no more; ends the process."""
        # Whatever prints, in this program or in a library written in C, prints to the log.
        self._output = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        self._say(
            {
                "type": "hello",
                "protocol": PROTOCOL_VERSION,
                "name": self._name,
                "version": self._version,
                "kinds": list(self._kinds),
                "capabilities": self._capabilities,
                "examples": self._examples,
            }
        )
        threading.Thread(target=self._listen, name="ringrift-workload", daemon=True).start()
        try:
            while True:
                message = self._jobs.get()
                if message is None:
                    self._exit(0)
                self._do(message)
        except SystemExit as leaving:
            code = leaving.code
            self._exit(code if isinstance(code, int) else 0 if code is None else 1)
        except BaseException:
            traceback.print_exc(file=sys.stderr)
            self._exit(1)

    def _say(self, message: Mapping[str, Any]) -> None:
        line = _json(message) + b"\n"
        assert self._output is not None
        with self._lock:
            try:
                view = memoryview(line)
                while view:
                    view = view[self._output.write(view) :]
            except (BrokenPipeError, ValueError):
                # The worker is gone, and nobody waits for the result.
                os._exit(EXIT_PREEMPTED)

    def _listen(self) -> None:
        for line in sys.stdin.buffer:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
                kind = message["type"]
            except (ValueError, KeyError, TypeError):
                print(f"the worker wrote what is no message: {line[:80]!r}", file=sys.stderr, flush=True)
                self._exit(EXIT_BAD_INPUT)
            if kind == "job":
                self._jobs.put(message)
            elif kind == "cancel":
                job = self._current
                if job is not None and job.id == message.get("job_id"):
                    job._cancel(str(message.get("reason", "cancelled")))
            elif kind == "shutdown":
                break
        self._leaving = True
        self._jobs.put(None)
        job = self._current
        if job is not None:
            job._cancel("shutdown")

    def _do(self, message: Mapping[str, Any]) -> None:
        try:
            job = Job(message, self._say)
        except KeyError as missing:
            print(f"the job lacks {missing}", file=sys.stderr, flush=True)
            self._exit(EXIT_BAD_INPUT)
        self._current = job
        if self._leaving:
            job._cancel("shutdown")
        done: Dict[str, Any] = {"type": "done", "job_id": job.id}
        try:
            handler = self._kinds.get(job.kind)
            if handler is None:
                raise BadInput(f'this program does not do "{job.kind}"')
            metrics = handler(job)
            done["status"] = "ok"
            if metrics:
                done["metrics"] = dict(metrics)
            _json(done)
        except Cancelled:
            done = {"type": "done", "job_id": job.id, "status": "preempted"}
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            done = {"type": "done", "job_id": job.id, "status": "error", "error": _failure(error)}
        self._current = None
        self._say(done)

    def _exit(self, code: int) -> NoReturn:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        # Not sys.exit: the listening thread holds standard input, for which the interpreter would wait in vain.
        os._exit(code)


def _failure(error: Exception) -> Dict[str, Any]:
    message = (str(error) or type(error).__name__)[:_MOST_TEXT]
    if isinstance(error, BadInput):
        return {"code": "bad_input", "message": message, "retryable": False}
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SHORT_OF):
        return {"code": "resource", "message": message, "retryable": True}
    return {"code": type(error).__name__, "message": message, "retryable": True}
