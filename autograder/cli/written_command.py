"""The command that opens a page for grading written answers with the course's rubric."""

import contextlib
import getpass
import json
import secrets
import threading
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import click

from autograder.authoring.course import find_course
from autograder.cli.options import note, out_option, report_errors, results_of
from autograder.records import GraderError
from autograder.temporary import temporary_folder

_MOST_BYTES = 1 << 20
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@click.command(
    epilog="""\b
Examples:
  autograder written ps1
  autograder written ps1 --grader bea --section tuesday --blind
  autograder written ps1 --no-browser --port 8801    on a server: tunnel to that port

\b
OUT/sections.csv, where there is one, has the columns student and section, and may have grader.
Who is named as grader sees the answers given to them; --section NAME shows those of one section.
"""
)
@click.argument("name", metavar="SET")
@click.option("--grader", default=getpass.getuser, help="Who grades.  [default: your account]")
@click.option("--section", default="", help="Only of this section, by OUT/sections.csv.")
@click.option("--blind", is_flag=True, help="Show no names.")
@out_option
@click.option("--db", "database", default="", help="Gradebook.  [default: OUT/gradebook.db]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="[default: any free one]")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open it at once.")
@click.pass_obj
@report_errors
def written(
    folder: Path | None,
    name: str,
    grader: str,
    section: str,
    blind: bool,
    out: Path,
    database: str,
    port: int,
    browser: bool,
) -> None:
    """Grade written answers by hand, with the rubric beside them.

    One answer after the other, with the pictures that stood before it; the levels are those of the
    course's rubrics.md. All is saved at once into the gradebook, with who gave it. Several people
    may grade at the same time, each with this command: nobody replaces what somebody else has just
    given. Works without a network, until Ctrl-C.
    """
    from autograder.authoring.release import ReleasedSet
    from autograder.class_run.settings import Settings
    from autograder.class_run.written import Choice, WrittenAnswers

    course = find_course(folder)
    out, database = results_of(course, out, database)
    if not database and not (out / "gradebook.db").exists():
        raise GraderError(f"no gradebook at {out / 'gradebook.db'}: grade a class first")
    released = ReleasedSet(course, name)
    answers = WrittenAnswers(released, Settings(out, database), Choice(grader, section))
    if not answers.questions:
        raise GraderError(f"{name} has no written answers")
    for question in answers.questions:
        answers.answers(question)  # a file of sections that cannot be read is said here
    server = WrittenServer(WrittenPages(answers, released.outline, grader, section, blind), port)
    click.echo(server.address)
    note(["only programs of this machine that know this address reach it; Ctrl-C ends it"])
    opening = _open(server.address) if browser else contextlib.nullcontext()
    with contextlib.suppress(KeyboardInterrupt), opening:
        server.serve_forever()
    click.echo(f"Next         autograder dashboard {name}")


@contextlib.contextmanager
def _open(address: str) -> Iterator[None]:
    """Open a browser on a file of one's own that leads there.

    All accounts of a machine see how its programs were called; the address has a secret in it.
    """
    with temporary_folder("written") as folder:
        page = folder / "open.html"
        page.write_text(f'<meta http-equiv="refresh" content="0;url={address}">', encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield


@dataclass(frozen=True)
class WrittenPages:
    """The pages on which somebody grades, and what their forms do."""

    answers: Any
    outline: Any
    grader: str
    section: str
    blind: bool

    def index(self) -> str:
        """Return the list of all answers."""
        from autograder.class_run.written import counts
        from autograder.reports.html import render

        answers = [(item, self.answers.answers(item)) for item in self.answers.questions]
        questions = [(item, some, counts(some)) for item, some in answers]
        return render("written_list.html", **self._common(), questions=questions)

    def page(self, question: str, key: str, problem: str = "") -> str | None:
        """Return the page of one answer; None if there is none."""
        from autograder.reports.html import render

        item = self.answers.question(question)
        one = item and self.answers.answer(item, key)
        if item is None or one is None:
            return None
        listed = self.answers.answers(item)
        place = [other.key for other in listed].index(key)
        text, pictures = self.answers.shown(item, one)
        return render(
            "written.html",
            script="written.js",
            images=True,
            posts=True,
            **self._common(),
            item=item,
            one=one,
            place=place + 1,
            n=len(listed),
            before=_link(listed[max(place - 1, 0) : place]),
            after=_link(listed[place + 1 : place + 2]),
            waiting=_link([o for o in (*listed[place + 1 :], *listed[:place]) if not o.is_done]),
            criteria=self.answers.criteria(item),
            text=text,
            pictures=pictures,
            problem=problem,
            state=_state(one),
        )

    def save(self, question: str, key: str, form: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """Save what a form says; return a status, and what to say."""
        from autograder.class_run.written import Changed

        item = self.answers.question(question)
        if item is None:
            return HTTPStatus.NOT_FOUND, {"state": "no such question"}
        try:
            n = len(self.answers.criteria(item))
            levels = [_number(form.get(f"level-{place}", "")) for place in range(n)]
            points, comment = _number(form.get("points", "")), form.get("comment", "").strip()
            comment = comment.replace("\r\n", "\n")
            one = self.answers.give(item, key, form.get("seen", ""), levels, points, comment)
        except Changed as error:
            return HTTPStatus.CONFLICT, {"state": str(error)}
        except GraderError as error:
            return HTTPStatus.BAD_REQUEST, {"state": f"not saved: {error}"}
        plain = {"state": _state(one), "version": one.version, "points": one.given.points}
        return HTTPStatus.OK, plain

    def next_that_waits(self, question: str, key: str) -> str:
        """Return the address of the next answer that waits, seen from one; the list's if none."""
        listed = self.answers.answers(self.answers.question(question))
        place = [one.key for one in listed].index(key)
        rest = [one for one in (*listed[place + 1 :], *listed[:place]) if not one.is_done]
        return _link(rest) or "../../"

    def _common(self) -> dict[str, Any]:
        return {
            "outline": self.outline,
            "grader": self.grader,
            "section": self.section,
            "blind": self.blind,
        }


def _link(answers: Sequence[Any]) -> str:
    return f"../{answers[0].key}/" if answers else ""


def _state(one: Any) -> str:
    """Say what of an answer is saved."""
    if one.given.is_of_earlier:
        return "What was given is for an earlier answer: look again, and save."
    if one.given.points is None:
        return "Nothing is saved yet."
    when = f" at {datetime.fromisoformat(one.at).astimezone():%H:%M on %Y-%m-%d}" if one.at else ""
    return f"Saved: {one.given.points:g} points by {one.by or 'somebody, in formgrader'}{when}."


def _number(text: str) -> float | None:
    """Read what was typed.

    Raises:
        GraderError: if it is no number.
    """
    try:
        return float(text.replace(",", ".")) if text.strip() else None
    except ValueError:
        raise GraderError(f"{text[:20]!r} is not a number of points") from None


class WrittenServer(ThreadingHTTPServer):
    """Serves the pages to whoever knows the address, on this machine alone."""

    daemon_threads = True

    def __init__(self, pages: WrittenPages, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.pages, self.secret, self.lock = pages, secrets.token_urlsafe(24), threading.Lock()

    @property
    def address(self) -> str:
        """Where the list of answers is."""
        return f"http://127.0.0.1:{self.server_port}/{self.secret}/"


class _Handler(BaseHTTPRequestHandler):
    server: WrittenServer

    def do_GET(self) -> None:
        """Show the list, or one answer."""
        page: str | None = None
        try:
            with self.server.lock:
                match self._place():
                    case []:
                        page = self.server.pages.index()
                    case [question, key]:
                        page = self.server.pages.page(question, key)
        except GraderError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, str(error), "text/plain; charset=utf-8")
            return
        self._send(HTTPStatus.OK if page else HTTPStatus.NOT_FOUND, page or "")

    def do_POST(self) -> None:
        """Save what was chosen."""
        place, size = self._place(), self.headers.get("Content-Length", "")
        if place is None or len(place) != 2 or not size.isdecimal() or int(size) > _MOST_BYTES:
            self._send(HTTPStatus.NOT_FOUND, "")
            return
        body = self.rfile.read(int(size)).decode("utf-8", "replace")
        form = {name: some[-1] for name, some in parse_qs(body, keep_blank_values=True).items()}
        pages, (question, key) = self.server.pages, place
        with self.server.lock:
            status, said = pages.save(question, key, form)
            if self.headers.get("Accept") == "application/json":
                self._send(status, json.dumps(said), "application/json")
            elif status != HTTPStatus.OK:
                self._send(status, pages.page(question, key, said["state"]) or "")
            else:
                to = pages.next_that_waits(question, key) if "go" in form else "./"
                self._send(HTTPStatus.SEE_OTHER, "", to=to)

    def _place(self) -> list[str] | None:
        """Return what is asked for below the secret; None where that, or the host, is another."""
        hosts = [f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")]
        _, given, *rest = [*self.path.partition("?")[0].split("/"), ""][:6]
        is_known = secrets.compare_digest(given.encode(), self.server.secret.encode())
        if not is_known or self.headers.get("Host") not in hosts:
            return None
        return [part for part in rest if part]

    def _send(self, status: int, text: str, kind: str = "", to: str = "") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, kind if kind and name == "Content-Type" else value)
        if to:
            self.send_header("Location", to)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the address has a secret in it."""
