"""Published tables: each agrees with itself and with what else is known of its models."""

import json
import re
from pathlib import Path

import pytest
import torch

from course_pkg.models.gpt import GPT
from course_pkg.models.transformer import count_parameters
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.results import published
from course_pkg.results.published import published_table

NAMES = json.loads(Path(published.__file__).with_name("published.json").read_text("utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_every_row_has_a_source_with_a_year_and_a_figure(name):
    table = published_table(name)
    assert table.title and table.unit and table.remarks
    for model, *cells, source in table.rows:
        assert re.search(r"\b(19|20)\d\d\b", source), model
        assert set(cells) != {"–"}, model
        assert len(cells) + 2 == len(table.header)


def test_glue_averages_are_those_of_its_columns():
    for model, figures in published_table("glue").values.items():
        parts = [value for column, value in figures.items() if column != "average"]
        # both are rounded to a tenth
        assert sum(parts) / len(parts) == pytest.approx(figures["average"], abs=0.11), model


def test_gpt_has_the_same_figures_in_both_tables_but_for_the_new_version_of_qnli():
    one, other = (published_table(name).values["GPT"] for name in ("gpt_inference", "glue"))
    differing = {column for column in one.keys() & other.keys() if one[column] != other[column]}
    assert differing == {"QNLI"}


@pytest.mark.parametrize("model", list(published_table("llama").values))
def test_llama_settings_give_the_published_number_of_parameters(model):
    row = published_table("llama").values[model]
    d_model = int(row["d_model"])
    config = TransformerConfig(
        vocab_size=32_000,
        context_length=2048,
        d_model=d_model,
        n_heads=int(row["heads"]),
        n_layers=int(row["layers"]),
        d_ff=-(-(8 * d_model // 3) // 256) * 256,
        positions="rotary",
        norm="rms",
        activation="swiglu",
        has_bias=False,
        is_tied=False,
    )
    with torch.device("meta"):
        n_parameters = count_parameters(GPT(config))
    # the paper cuts after one digit: 65,285,660,672 is 65.2 there
    assert n_parameters // 10**8 / 10 == row["parameters, billions"]


def test_ours_stand_below_with_their_protocol():
    table = published_table("glue", {"ours, tiny": {"SST-2": 80.25}}, protocol="100 phrases")
    *theirs, ours = table.rows
    assert theirs == list(published_table("glue").rows)
    assert ours[0] == "ours, tiny" and ours[-1] == "ours: 100 phrases"
    assert ours[table.header.index("SST-2")] == "80.25" and ours[1] == "–"


@pytest.mark.parametrize(
    ("name", "ours", "protocol", "message"),
    [
        ("superglue", None, None, "name is 'superglue'; the published tables are glue, gpt_inf"),
        ("glue", {"x": {"SST": 1.0}}, "here", "ours has the column 'SST'; the table has"),
        ("glue", {"GPT": {"RTE": 1.0}}, "here", "ours has 'GPT', which the table has"),
        ("glue", {"x": {"RTE": 1.0}}, None, "protocol is None; figures of our own need"),
        ("glue", None, "here", "ours has 0 models and protocol is 'here'"),
    ],
)
def test_table_rejects_what_would_mislead(name, ours, protocol, message):
    with pytest.raises(ValueError, match=message):
        published_table(name, ours, protocol=protocol)
