"""Ratios of times: what is reported, on a clock that the test turns by hand."""

import json

import pytest
import torch

from benchmarks import peers, side_by_side
from benchmarks.side_by_side import Ratio, compare, record, table


@pytest.fixture
def clock(monkeypatch):
    """Let work say how long it takes, by what it returns."""
    monkeypatch.setattr(side_by_side, "_seconds", lambda work, device: work())


def test_ratio_is_the_median_of_paired_rounds(clock):
    # The machine slows down fourfold halfway; each pair of times still has the same ratio.
    pace = [1.0] * 5 + [4.0] * 5
    number = {"ours": 0, "theirs": 0}

    def take(name, seconds):
        number[name] += 1
        return pace[number[name] - 1] * seconds

    ratio = compare("a", "b", lambda: take("ours", 3.0), lambda: take("theirs", 2.0), n_rounds=9)
    assert (ratio.low, ratio.ratio, ratio.high) == (1.5, 1.5, 1.5)


def test_spread_shows_rounds_that_differ(clock):
    times = iter([1.0, 1.0, 2.0, 4.0, 1.0])  # the first is the warm-up
    ratio = compare("a", "b", lambda: next(times), lambda: 1.0, n_rounds=4)
    assert (ratio.low, ratio.ratio, ratio.high) == (1.0, 1.5, 2.5)
    assert ratio.ours == 1500.0  # milliseconds


@pytest.mark.parametrize(
    ("aim", "verdict"), [(1.2, "met"), (1.1, "met"), (1.05, "open"), (0.9, "missed"), (None, "")]
)
def test_verdict_respects_the_spread(aim, verdict):
    assert Ratio("a", "b", 1.1, 1.0, 1.2, 11.0, 10.0, aim).verdict == verdict


def test_table_and_record_hold_every_row(tmp_path):
    ratios = [Ratio("steps", "a peer", 0.5, 0.4, 0.6, 5.0, 10.0, 1.0)]
    shown = table(ratios)
    assert "| steps | a peer | 0.50 | 0.40 to 0.60 | ≤ 1 | met | 5 ms | 10 ms |" in shown
    about = side_by_side.provenance("python x", torch.device("cpu"))
    record(tmp_path / "r.json", ratios, about)
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["ratios"][0]["peer"] == "a peer"
    assert content["versions"]["torch"] == torch.__version__


@pytest.mark.slow
def test_peers_are_compared_and_recorded(tmp_path, capsys):
    file = tmp_path / "peers.json"
    rows = peers.main(["--only", "attention", "ngrams", "--rounds", "2", "--record", str(file)])
    assert len(rows) == 5
    assert all(row.ratio > 0 for row in rows)
    # NLTK sums over all it has counted at each word; orders of magnitude, whatever the machine.
    assert rows[-1].ratio < 0.5
    assert len(json.loads(file.read_text())["ratios"]) == 5
    assert "nltk.lm" in capsys.readouterr().out


def test_plain_gpt_computes_what_ours_computes():
    """A peer that does less work would make an unfair race."""
    from dataclasses import replace

    from benchmarks.plain_gpt import PlainGPT
    from course_pkg.models.gpt import GPT, gpt_tiny

    V, T = 31, 8
    ours = GPT(replace(gpt_tiny(V, T), has_bias=False))
    plain = PlainGPT(V, T, 64, 4, 2)
    with torch.no_grad():
        plain.embedding.weight.copy_(ours.embedding.weight)
        plain.positions.weight.copy_(ours.positions.table.weight)
        plain.norm.weight.copy_(ours.stack.final_norm.weight)
        for block, own in zip(plain.blocks, ours.stack.blocks, strict=True):
            attention = own.attention
            parts = [attention.query.weight, attention.key.weight, attention.value.weight]
            block.query_key_value.weight.copy_(torch.cat(parts))
            block.join.weight.copy_(attention.output.weight)
            block.expand.weight.copy_(own.feed_forward.expand.weight)
            block.contract.weight.copy_(own.feed_forward.contract.weight)
    ids = torch.randint(V, (3, T + 1), generator=torch.Generator().manual_seed(2))
    expected = ours(ids[:, :-1], ids[:, 1:])[1]
    assert torch.allclose(plain(ids[:, :-1], ids[:, 1:]), expected, atol=1e-6)
    assert sum(p.numel() for p in plain.parameters()) == sum(p.numel() for p in ours.parameters())
