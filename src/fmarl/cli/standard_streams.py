"""Standard output and error as commands may rely on them: writing to them never ends a command.

A reader that has seen enough, such as `head`, silences what follows; characters that an encoding
does not have are replaced. Light: it is in place before anything else is loaded.
"""

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PLAIN = str.maketrans(
    {
        "–": "-", "−": "-", "…": "...", "’": "'", "“": '"', "”": '"', "×": "x", "²": "^2",
        "∞": "inf", "‖": "|", "∇": "grad ", "τ": "tau", "λ": "lambda", "η": "eta", "ε": "eps",
        "ψ": "psi", "μ": "mu", "σ": "sigma", "γ": "gamma", "Δ": "D", "│": "|", "─": "-", "━": "-",
    }
)  # fmt: skip
"""What is written where an encoding, such as ASCII, lacks a character; for others a `?`."""
IN_WORDS = "fmarl-in-words"


class ForgivingStream(io.TextIOWrapper):
    """A stream that can not fail: once it could not be written to, it leads nowhere."""

    problem: OSError | None = None
    """Why something was lost, unless the reader simply left."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._silence(error)
        return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._silence(error)

    def _silence(self, error: OSError) -> None:
        """Point the descriptor itself nowhere, for processes that we start inherit it."""
        if not isinstance(error, BrokenPipeError):
            self.problem = error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


@contextmanager
def forgiving_streams() -> Iterator[None]:
    """Have such streams in place for as long as the program runs."""
    _fill_closed_descriptors()
    codecs.register_error(IN_WORDS, _in_words)
    before = sys.stdout, sys.stderr
    ours = _forgiving(sys.stdout, 1), _forgiving(sys.stderr, 2)
    sys.stdout, sys.stderr = ours
    try:
        yield
    finally:
        for stream in ours:
            stream.flush()
            stream.detach()
        sys.stdout, sys.stderr = before


def output_problem() -> str:
    """Why a part of standard output was lost, such as on a full disk; empty if none was."""
    sys.stdout.flush()
    problem = getattr(sys.stdout, "problem", None)
    return "" if problem is None else problem.strerror or str(problem)


def _fill_closed_descriptors() -> None:
    """Lead standard streams that were closed nowhere: else the next file that is opened is one."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def _forgiving(stream: Any, descriptor: int) -> ForgivingStream:
    if stream is None:  # it was closed when Python began
        raw = os.fdopen(descriptor, "wb", closefd=False)
        return ForgivingStream(raw, encoding="utf-8")
    return ForgivingStream(
        stream.buffer,
        encoding=stream.encoding,
        errors=IN_WORDS,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _in_words(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end].translate(PLAIN)
    return lacking.encode("ascii", "replace").decode(), error.end
