import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.class_run.forecast import Measured, forecast, read_measured
from autograder.cli import main as cli
from autograder.records import GraderError

STAGES = {"read": 1, "record": 2, "gradebook": 3, "feedback": 4, "judge": 85, "repair": 5}
OWN = {"of it the students' own code": 50}  # counted within another stage
RECORD = {"ps1": {"cpu_ms_each": STAGES | OWN}, "what": "a benchmark"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "measured.json"
    path.write_text(json.dumps(RECORD))
    return path


def test_measured_counts_what_a_submission_holds_and_what_one_process_must_do(file):
    measured = read_measured(file, "ps1")
    assert measured.core_seconds == pytest.approx(0.1)  # all stages, each once
    assert measured.writer_seconds == pytest.approx(0.010)  # 1 + 2 + 3 + 4 ms


def test_forecast_shares_the_work_until_the_writer_is_the_one_to_wait_for():
    found = forecast(Measured(core_seconds=0.1, writer_seconds=0.01), 100_000)
    assert found.core_hours == pytest.approx(10_000 / 3600)
    assert found.seconds[2] == pytest.approx(5000)
    assert found.seconds[16] == pytest.approx(1000)  # 625 s of work, but 1000 s of writing
    assert found.seconds[128] == pytest.approx(1000)


def test_forecast_command_prints_a_row_for_each_size(file):
    words = ["forecast", "ps1", "--measured", str(file), "--price", "0.05"]
    shown = CliRunner().invoke(cli.main, words)
    assert shown.exit_code == 0, shown.output
    rows = [line.split("  ") for line in shown.output.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    # 1,000 x 0.1 s = 0.03 core hours; 50 s on 2 cores; 10 s of writing on any more than 10
    assert ["1,000", "0.03", "50 s", "10 s", "10 s", "0.00"] in cells
    assert ["10,000,000", "277.78", "138.9 h", "27.8 h", "27.8 h", "13.89"] in cells
    plain = json.loads(CliRunner().invoke(cli.main, [*words[:4], "--json"]).output)
    assert [row["n_submissions"] for row in plain] == [1_000, 100_000, 10_000_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "cannot be read"), ("{}", "holds no measurement of 'ps1'"), ('{"ps1": 3}', "'ps1'")],
)
def test_read_measured_rejects_other_files(tmp_path, text, message):
    path = tmp_path / "measured.json"
    path.write_text(text)
    with pytest.raises(GraderError, match=message):
        read_measured(path, "ps1")
    with pytest.raises(GraderError, match="No such file"):
        read_measured(tmp_path / "none.json", "ps1")


def test_instructors_guide_shows_what_was_recorded():
    root = Path(__file__).parents[3]
    recorded = root / "course_pkg" / "results" / "benchmarks" / "grading_throughput.json"
    words = ["forecast", "ps1", "--measured", str(recorded)]
    shown = CliRunner().invoke(cli.main, words).stdout.splitlines()[1:]
    guide = (root / "book" / "back" / "instructors.md").read_text(encoding="utf-8")
    for line in shown:
        cells = [cell.strip() for cell in line.split("  ") if cell.strip()]
        assert f"| {' | '.join(cells)} |" in guide
