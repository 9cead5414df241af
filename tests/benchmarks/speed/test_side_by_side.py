"""Ratios of times: what is reported, on a clock that the test turns by hand."""

import json
import os
import subprocess
import sys

import pytest
import torch

from benchmarks import records
from benchmarks.records import begun
from benchmarks.speed import kenlm_programs, peers, peers_text, side_by_side
from benchmarks.speed.peers_attention import N_HEADS
from benchmarks.speed.side_by_side import Ratio, compare, record, table
from course_pkg.text.corpora import load_corpus


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


@pytest.mark.parametrize(("seconds", "n_rounds"), [(1.0, 3), (0.25, 6), (0.001, 30)])
def test_short_work_gets_more_rounds(clock, seconds, n_rounds):
    done = []
    compare("a", "b", lambda: done.append(1) or seconds, lambda: seconds, n_rounds=3)
    assert len(done) == n_rounds + 1  # one to warm up


@pytest.mark.parametrize(
    ("aim", "verdict"), [(1.2, "met"), (1.1, "met"), (1.05, "open"), (0.9, "missed"), (None, "")]
)
def test_verdict_respects_the_spread(aim, verdict):
    assert Ratio("a", "b", 1.1, 1.0, 1.2, 11.0, 10.0, aim).verdict == verdict


def test_table_and_record_hold_every_row(tmp_path):
    ratios = [Ratio("steps", "a peer", 0.5, 0.4, 0.6, 5.0, 10.0, 1.0)]
    shown = table(ratios)
    assert "| steps | a peer | 0.50 | 0.40 to 0.60 | ≤ 1 | met | 5 ms | 10 ms |" in shown
    about = records.provenance("python x", torch.device("cpu"))
    record(tmp_path / "r.json", ratios, about)
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["ratios"][0]["peer"] == "a peer"
    assert content["versions"]["torch"] == torch.__version__


def test_time_of_programs_that_were_run_counts():
    def work():
        subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)

    ratio = compare("a program", "nothing", work, lambda: sum(range(10**5)), n_rounds=3)
    assert ratio.ratio > 3


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Let shell scripts stand in for KenLM's programs; return a function that writes one."""

    def write(name: str, script: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    for name in kenlm_programs.PROGRAMS:
        write(name, "cat > /dev/null")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return write


def test_perplexity_is_read_from_what_query_prints(programs):
    programs("query", "cat > /dev/null; echo 'Perplexity including OOVs:\t12.5'")
    assert kenlm_programs.is_installed()
    assert kenlm_programs.perplexity(["a b"], ["a"], 2) == 12.5


def test_a_program_that_fails_says_why(programs):
    programs("lmplz", "echo 'the corpus has the symbol <s>' >&2; exit 1")
    with pytest.raises(RuntimeError, match="lmplz failed: the corpus has the symbol <s>"):
        kenlm_programs.perplexity(["<s>"], ["a"], 2)
    programs("lmplz", "cat > /dev/null")
    with pytest.raises(RuntimeError, match="printed no perplexity"):
        kenlm_programs.perplexity(["a"], ["a"], 2)


def test_kenlm_finds_the_perplexity_that_ours_has():
    if not kenlm_programs.is_installed():
        pytest.skip("KenLM's programs are not on the PATH")
    corpus = load_corpus("reference")
    train, test = (peers_text.sentences(texts) for texts in (corpus.train, corpus.test))
    test.append("a word that training lacks: zyzzyva, and <unk>")
    ours, theirs = (f(train, test, 3) for f in (peers_text.perplexity, kenlm_programs.perplexity))
    assert ours == pytest.approx(theirs, rel=1e-4)


def test_one_round_is_refused_before_anything_runs(capsys):
    with pytest.raises(SystemExit, match="2"):
        peers.main(["--rounds", "1"])
    assert "--rounds is 1" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_peers_are_compared_and_recorded(tmp_path, capsys):
    file = tmp_path / "peers.json"
    rows = peers.main(["--only", "attention", "ngrams", "--rounds", "2", "--record", str(file)])
    assert len(json.loads(file.read_text())["ratios"]) == len(rows) >= 5
    assert all(row.ratio > 0 for row in rows)
    # NLTK sums over all it has counted at each word; orders of magnitude, whatever the machine.
    assert rows[-1].ratio < 0.5
    assert "nltk.lm" in capsys.readouterr().out
    # Weights of 2,048 tokens to 2,048 others are never stored by the kernel.
    longest = next(row for row in rows if row.unit == "MB" and "T = 2048" in row.subject)
    assert longest.theirs > 2048**2 * 4 * N_HEADS / 1e6 > longest.ours


def test_peer_of_the_gpt_computes_what_ours_computes():
    """A peer that does less work would make an unfair race."""
    from dataclasses import replace

    from benchmarks.speed.kernel_gpt import KernelGPT
    from course_pkg.models.gpt import GPT, gpt_tiny

    V, T = 31, 8
    ours = GPT(replace(gpt_tiny(V, T), has_bias=False))
    plain = KernelGPT(V, T, 64, 4, 2)
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


def test_record_is_gone_on_with_only_if_it_was_begun_alike(tmp_path):
    path = tmp_path / "record.json"
    assert begun(None, {"seeds": (0, 1)}) == begun(path, {"seeds": (0, 1)}) == {}
    path.write_text('{"seeds": [0, 1], "arms": {"a": 1}}')
    assert begun(path, {"seeds": (0, 1)})["arms"] == {"a": 1}
    with pytest.raises(ValueError, match=r"begun with seeds \[0, 1\]; it must be \[0\] to go on"):
        begun(path, {"seeds": (0,)})
    with pytest.raises(ValueError, match="is not a record of this benchmark: KeyError"):
        begun(path, {"weights": "w"})
    path.write_text("cut o")
    with pytest.raises(ValueError, match="is not a record of this benchmark"):
        begun(path, {})
