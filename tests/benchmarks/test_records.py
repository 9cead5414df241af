"""No benchmark overwrites what it has not written, and none finds that out after hours of work."""

import importlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

from benchmarks.records import benchmark_of, write_record

FOLDER = Path(__file__).parents[2] / "benchmarks"
OPTIONS = r"\b(add_record_option|command_line|model_options)\(\s*(parser|step|__doc__)"
SHARED = {"backbones", "published", "records"}  # make parsers for others
FIRST = {"pretraining": ["ship"], "pretraining_bert": ["ship"]}


def recording_benchmarks() -> list[str]:
    """Modules of all that take `--record`, by what their command line calls."""
    also = {"window", "film_labels", "film_pretraining", "story_labels"}
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
