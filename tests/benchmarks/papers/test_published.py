"""Ours beside what was published: the table, the record, and the word about missing data."""

import json

import pytest

from benchmarks.papers import published
from benchmarks.papers.published import Figure
from course_pkg.text.corpora.sources import SourceUnavailableError

FIGURES = [
    Figure("a model", 27.5, 28.3, "Nobody 1999", aim=26.0),
    Figure("a worse one", 25.0, aim=26.0),
    Figure("not ours", None, 34.1, "Nobody 2000"),
]


def test_table_says_whether_an_aim_was_met():
    lines = published.table(FIGURES, is_higher_better=True, n_digits=1).splitlines()
    assert lines[2] == "| a model | 27.5 | 28.3 | ≥ 26: met | Nobody 1999 |"
    assert lines[3] == "| a worse one | 25.0 |  | ≥ 26: missed |  |"
    assert lines[4] == "| not ours |  | 34.1 |  | Nobody 2000 |"


def test_table_turns_the_aim_round_where_less_is_better():
    lines = published.table(FIGURES, is_higher_better=False).splitlines()
    assert "≤ 26: missed" in lines[2]
    assert "≤ 26: met" in lines[3]


def test_report_records_figures_details_and_provenance(tmp_path):
    path = tmp_path / "record.json"
    arguments = ["--record", str(path)]
    options = published.command_line("about", "nothing").parse_args(arguments)
    shown: list[str] = []
    published.report(
        FIGURES,
        "BLEU of nothing",
        is_higher_better=True,
        module="benchmarks.nothing",
        options=options,
        arguments=arguments,
        details={"n_epochs": 3},
        show=shown.append,
    )
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["command"] == f"python -m benchmarks.nothing --record {path}"
    assert [figure["ours"] for figure in record["figures"]] == [27.5, 25.0, None]
    assert record["n_epochs"] == 3
    assert {"date", "machine", "python", "versions"} <= record.keys()
    assert "a worse one" in shown[0]


def test_missing_data_end_the_run_with_their_name():
    with pytest.raises(SystemExit, match="no file ptb"), published.or_exit():
        raise SourceUnavailableError("no file ptb.train.txt")
