"""Talk with a published model in the terminal, or let one go on with a text.

python -m course_pkg chat
python -m course_pkg complete "The capital of France is"

The weights stay as they are in the file, in blocks of four bits; `make published` brings them.
"""

import argparse
import importlib
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from course_pkg.common.checks import whole_numbers
from course_pkg.decoding.streaming import Streamer, prompt_lookup
from course_pkg.text.conversations import conversation_ids
from course_pkg.text.tokenizers.vocabulary import Tokenizer, check_text
from course_pkg.weights.pretrained import OWN, load_pretrained
from course_pkg.weights.published import PRECISIONS, PUBLISHED, PublishedModel, load_published

_DEFAULT = next(iter(PUBLISHED))
_HELP = "/new begins again, /quit or Ctrl-D ends, Ctrl-C stops an answer"


class Chat:
    """A conversation with a model, as long as fits into a context.

    Args:
        loaded: what `load_published` returns.
        system: what the model is told first; its template's own by default.
        context: so many tokens of the conversation it sees at most, the answer included.
        n_tokens: an answer's most tokens.
        knobs: of the choice of tokens, as for `Streamer.stream`.

    Attributes:
        messages: what was said, the oldest first.
        n_forgotten: how many of the oldest messages no longer fit.
    """

    def __init__(
        self,
        loaded: PublishedModel,
        *,
        system: str | None = None,
        context: int = 2048,
        n_tokens: int = 256,
        **knobs: Any,
    ) -> None:
        if not isinstance(loaded, PublishedModel):
            raise ValueError(
                f"loaded is {type(loaded).__name__}; it must be what load_published returns, which "
                "knows how its makers wrote conversations"
            )
        model: Any = loaded.model
        whole_numbers(context=context, n_tokens=n_tokens)
        if system is not None:
            check_text(system, "system")
        most = min(context, model.context_length)
        if not 0 < n_tokens < most:
            raise ValueError(
                f"n_tokens is {n_tokens}; it must be below the context, here {most}, so that there "
                "is room for what is asked"
            )
        self.loaded, self.n_tokens, self.knobs = loaded, n_tokens, knobs
        self._room = most - n_tokens
        self._first = [] if system is None else [{"role": "system", "content": system}]
        self._streamer = Streamer(model)
        self.messages: list[dict[str, str]] = []
        self.n_forgotten = 0
        # A template that fails, or knobs that mean nothing, are found before anything is said.
        self._fitting([{"role": "user", "content": ""}])
        self._tokens([0])

    def clear(self) -> None:
        """Begin again."""
        self.messages, self.n_forgotten = [], 0

    def answer(self, text: str) -> Iterator[str]:
        """Say something and yield the answer, piece by piece.

        What was yielded when the caller stops, or is interrupted, is what was said.

        Raises:
            ValueError: if the text alone is too long; nothing was said then.
        """
        check_text(text)
        said = [*self.messages, {"role": "user", "content": text.strip()}]
        ids, n_forgotten = self._fitting(said)
        self.messages, self.n_forgotten = said, n_forgotten
        reply = {"role": "assistant", "content": ""}
        self.messages.append(reply)
        for piece in pieces(self.loaded.tokenizer, self._tokens(ids)):
            reply["content"] += piece
            yield piece

    def _tokens(self, ids: list[int]) -> Iterator[int]:
        stop_ids = self.loaded.stop_ids
        return self._streamer.stream(
            ids, self.n_tokens, stop_ids=stop_ids, draft=prompt_lookup, **self.knobs
        )

    def _fitting(self, said: list[dict[str, str]]) -> tuple[list[int], int]:
        """Return the ids of what fits, and how many of the oldest messages were left out."""
        # A question goes with its answer; and what did not fit before will not fit again.
        for n_left_out in range(self.n_forgotten, len(said), 2):
            ids = self._ids(said[n_left_out:])
            if len(ids) <= self._room:
                return ids, n_left_out
        raise ValueError(
            f"that is {len(ids):,} tokens with what the template adds; it must be at most "
            f"{self._room:,}, so that an answer of {self.n_tokens} fits into the context"
        )

    def _ids(self, messages: Sequence[dict[str, str]]) -> list[int]:
        tokenizer: Any = self.loaded.tokenizer
        return conversation_ids(self.loaded.chat_template, tokenizer, [*self._first, *messages])


def pieces(tokenizer: Tokenizer, tokens: Iterator[int]) -> Iterator[str]:
    """Yield the text of tokens as they come; half a character waits for its other half."""
    ids: list[int] = []
    n_shown = 0
    for token in tokens:
        ids.append(token)
        text = tokenizer.decode(ids)
        if not text.endswith("\ufffd"):
            yield text[n_shown:]
            n_shown = len(text)
    if rest := tokenizer.decode(ids)[n_shown:]:
        yield rest


def printable(text: str) -> str:
    """Return a model's text without what would command the terminal: control characters."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf"))


@dataclass(frozen=True)
class _Loaded:
    """A model that goes on with texts, and how."""

    model: Any
    tokenizer: Any
    stop_ids: tuple[int, ...] = field(default=())


def chat(options: argparse.Namespace) -> int:
    """Talk until the input ends. Returns the exit code."""
    loaded = _load(options)
    talk = Chat(
        loaded,
        system=options.system,
        context=options.context,
        n_tokens=options.tokens,
        **_knobs(options),
    )
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        # With it `input` knows arrows and earlier lines, and takes more than 4,095 characters.
        with suppress(ImportError):
            importlib.import_module("readline")
        print(f"{loaded.card.splitlines()[0].lstrip('# ')}. {_HELP}.")
    while (text := _asked("you> " if is_terminal else "")) is not None:
        if text in ("/quit", "/exit"):
            break
        if text == "/new":
            talk.clear()
        elif text.startswith("/"):
            print(f"{text.split()[0]} is no command: {_HELP}", file=sys.stderr)
        elif text:
            _answer(talk, text)
    return 0


def _asked(prompt: str) -> str | None:
    """Return a line of input; None at its end. Ctrl-C drops a line: it may come after an answer."""
    try:
        return input(prompt).strip()
    except EOFError:
        if prompt:
            print()
        return None
    except KeyboardInterrupt:
        if not prompt:
            return None
        print(f"\n({_HELP})")
        return ""


def _answer(talk: Chat, text: str) -> None:
    before = talk.n_forgotten
    try:
        for piece in talk.answer(text):
            print(printable(piece), end="", flush=True)
        print()
    except KeyboardInterrupt:
        print(" (stopped)")
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
    if talk.n_forgotten > before:
        print(f"(the {talk.n_forgotten} oldest messages no longer fit)", file=sys.stderr)


def complete(options: argparse.Namespace) -> int:
    """Go on with a text. Returns the exit code."""
    loaded = _load_any(options)
    ids = loaded.tokenizer.encode(options.text) or [loaded.tokenizer.eos_id]
    tokens = Streamer(loaded.model).stream(
        ids, options.tokens, stop_ids=loaded.stop_ids, draft=prompt_lookup, **_knobs(options)
    )
    print(printable(options.text), end="", flush=True)
    try:
        for piece in pieces(loaded.tokenizer, tokens):
            print(printable(piece), end="", flush=True)
    except KeyboardInterrupt:
        print(" (stopped)", end="")
    print()
    return 0


def add_commands(commands: Any) -> None:
    """Add both commands to a parser's."""
    talk = commands.add_parser("chat", help="talk with a published model (make published)")
    talk.add_argument("--system", metavar="TEXT", help="what the model is told first")
    talk.add_argument("--context", type=int, default=2048, help="tokens that it sees (%(default)s)")
    goes_on = commands.add_parser("complete", help="let a model go on with a text")
    goes_on.add_argument("text", help="where it begins")
    goes_on.add_argument(
        "--model", choices=[*PUBLISHED, "gpt-small"], help=f"default: {_DEFAULT}, if it is there"
    )
    for parser, n_tokens, run in ((talk, 256, chat), (goes_on, 64, complete)):
        parser.set_defaults(run=run)
        parser.add_argument("--file", type=Path, help="a GGUF file, if not the installed one")
        parser.add_argument("--any", action="store_true", help="take any file, whatever its sha256")
        parser.add_argument("--precision", choices=PRECISIONS, help="of the weights (blocks)")
        parser.add_argument("--tokens", type=int, default=n_tokens, help="at most (%(default)s)")
        parser.add_argument("--temperature", type=float, default=0.2, help="0 is greedy")
        parser.add_argument("--top-p", type=float, default=0.9)
        parser.add_argument("--seed", type=int, help="the same seed, the same text")


def _knobs(options: argparse.Namespace) -> dict[str, Any]:
    if options.seed is not None and not 0 <= options.seed < 2**63:
        raise ValueError(f"--seed is {options.seed}; it must be at least 0 and below 2**63")
    generator = torch.Generator()
    generator.seed() if options.seed is None else generator.manual_seed(options.seed)
    return {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "generator": generator,
    }


def _load(options: argparse.Namespace) -> PublishedModel:
    try:
        return load_published(
            _DEFAULT,
            file=options.file,
            any_file=options.any,
            precision=options.precision or "blocks",
        )
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error}. gpt-small was never taught to answer, but goes on with a text: python -m "
            "course_pkg complete 'Once upon a time'"
        ) from error


def _load_any(options: argparse.Namespace) -> _Loaded:
    """Load the model that was asked for; if none was, the published one or else our own."""
    if options.model not in OWN:
        try:
            published = _load(options)
            return _Loaded(published.model, published.tokenizer, published.stop_ids)
        except ModuleNotFoundError as error:
            if options.model is not None or options.file is not None:
                raise
            print(f"with gpt-small: {error.args[0].split(';')[0]}", file=sys.stderr)
    elif options.file is not None or options.any or options.precision is not None:
        raise ValueError(
            f"--model is {options.model}, the course's own; --file, --any and --precision are for "
            "published models"
        )
    own = load_pretrained("gpt-small")
    return _Loaded(own.model, own.tokenizer, (own.tokenizer.eos_id,))
