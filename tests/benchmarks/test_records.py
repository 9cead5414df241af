"""No benchmark overwrites what it has not written, and none finds that out after hours of work."""

import importlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

from benchmarks.chapters import ladder
from benchmarks.records import Recording, benchmark_of, command_line, write_record

FOLDER = Path(__file__).parents[2] / "benchmarks"
MAKES_PARSER = r"\b(add_record_option|command_line|model_options|LabelRecording)\("
OPTIONS = MAKES_PARSER + r"\s*(parser|step|__doc__|arguments)"
SHARED = {"backbones", "published", "records"}  # make parsers for others
FIRST = {"pretraining": ["ship"], "pretraining_bert": ["ship"]}


def recording_benchmarks() -> list[str]:
    """Modules of all that take `--record`, by what their command line calls."""
    also = {"recurrent", "window"}
    return sorted(
        ".".join(file.relative_to(FOLDER.parent).with_suffix("").parts)
        for file in FOLDER.glob("**/*.py")
        if file.stem in also or (file.stem not in SHARED and re.search(OPTIONS, file.read_text()))
    )


@pytest.mark.parametrize("name", recording_benchmarks())
def test_a_file_of_somebody_else_is_refused_before_anything_is_measured(name, tmp_path, capsys):
    notes, other = tmp_path / "notes.json", tmp_path / "other.json"
    notes.write_text('{"mine": "and not made by a command"}')
    other.write_text('{"command": "python -m benchmarks.another --quick"}')
    main = importlib.import_module(name).main
    for file, what in ((notes, "no record of a benchmark"), (other, "a record of the benchmark")):
        before = file.read_bytes()
        with pytest.raises(SystemExit, match="2"):
            main([*FIRST.get(name.rpartition(".")[2], []), "--record", str(file)])
        assert f"{file} is {what}" in " ".join(capsys.readouterr().err.split())
        assert file.read_bytes() == before


def test_every_record_goes_through_the_one_that_looks():
    for file in FOLDER.glob("**/*.py"):
        if file.stem != "records":
            text = file.read_text()
            assert not re.search(r"add_argument\(\s*\"--record\"", text), file
            assert not re.search(r"record\.write_text|write_atomically\(options\.record", text), (
                file
            )


def test_an_earlier_record_of_the_same_benchmark_is_replaced_whole(tmp_path, monkeypatch):
    file = tmp_path / "r.json"
    write_record(file, {"command": "python benchmarks/chapters/ladder.py --n-steps 3", "n": 1})
    write_record(file, {"command": "python -m benchmarks.chapters.ladder", "n": 2})
    assert json.loads(file.read_text())["n"] == 2
    with pytest.raises(ValueError, match="is a record of the benchmark ladder; only an earlier"):
        write_record(file, {"command": "python -m benchmarks.speed.peers", "n": 3})
    with pytest.raises(TypeError):
        write_record(file, {"command": "python -m benchmarks.chapters.ladder", "n": object()})
    assert json.loads(file.read_text())["n"] == 2 and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "content", ["", "[1]", "{}", '{"command": 3}', '{"command": "\'"}', "\xff"]
)
def test_what_is_no_record_is_never_replaced(tmp_path, content):
    file = tmp_path / "r.json"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match="is no record of a benchmark"):
        write_record(file, {"command": "python -m benchmarks.chapters.ladder"})
    assert file.read_bytes() == content.encode("latin-1")


def test_what_is_recorded_names_a_benchmark_that_is_there():
    for file in (FOLDER.parent / "course_pkg" / "results" / "benchmarks").glob("*.json"):
        command = json.loads(file.read_text())["command"]
        assert list(FOLDER.glob(f"**/{benchmark_of(command)}.py")), file
        for module in re.findall(r"-m (benchmarks\.[\w.]+)", command):
            assert importlib.util.find_spec(module), (file, module)


def recording(*arguments: str) -> Recording:
    made = Recording(command_line("", ladder.__file__, arms=("GPT, 5 %", "BERT")), arguments)
    made.begin({"what": "losses"}, same={"seeds": (0, 1)})
    return made


def test_arms_are_measured_as_asked_and_once(tmp_path, capsys):
    file = tmp_path / "ladder.json"
    arms, to = ["GPT, 5 %", "BERT"], ["--record", str(file)]
    assert recording(*to).missing(arms) == arms and not file.exists()
    first = recording("--only", "BERT", *to)
    assert first.missing(arms) == ["BERT"]
    first.keep("BERT", [1.5], within="arms")
    content = json.loads(file.read_text())
    assert content["arms"] == {"BERT": [1.5]} and content["seeds"] == [0, 1]
    assert content["command"] == f"python -m benchmarks.chapters.ladder --only BERT --record {file}"
    second = recording(*to)
    assert second.missing(arms) == ["GPT, 5 %"]
    assert recording("--only", "BERT", *to).missing(arms) == []
    assert recording("--only", "BERT", "--only", "GPT, 5 %").missing(arms) == arms
    second.keep("GPT, 5 %", [2.5], within="arms")
    assert json.loads(file.read_text())["arms"] == {"BERT": [1.5], "GPT, 5 %": [2.5]}
    assert "BERT [1.5]" in capsys.readouterr().out


def test_unknown_arm_is_refused_with_the_names_that_there_are(capsys):
    with pytest.raises(SystemExit):
        recording("--only", "GPT")
    assert "invalid choice: 'GPT' (choose from 'GPT, 5 %', 'BERT')" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        recording("--help")
    assert "There are: GPT, 5 %; BERT" in " ".join(capsys.readouterr().out.split())


def test_record_of_other_settings_is_left_alone(tmp_path, capsys):
    file = tmp_path / "ladder.json"
    recording("--record", str(file)).keep("BERT", [1.5], within="arms")
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | {"seeds": [3]}))
    with pytest.raises(SystemExit):
        recording("--record", str(file))
    assert "was begun with seeds [3]; it must be [0, 1] to go on" in capsys.readouterr().err


def test_cpu_time_of_all_runs_is_counted(tmp_path, monkeypatch):
    file, clock = tmp_path / "ladder.json", iter([100.0, 103.0, 110.0, 200.0, 204.5])
    monkeypatch.setattr("benchmarks.records.time.process_time", lambda: next(clock))
    first = recording("--record", str(file))
    first.save()
    assert json.loads(file.read_text())["cpu_seconds"] == 3
    first.finish({"n": 1})
    assert json.loads(file.read_text())["cpu_seconds"] == 10
    recording("--record", str(file)).save()
    assert json.loads(file.read_text())["cpu_seconds"] == 14.5
