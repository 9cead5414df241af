"""The doctor on a healthy machine, and on ill ones."""

import subprocess
import sys

import pytest
import torch

from course_pkg import doctor
from course_pkg.text.corpora.sources import SourceUnavailableError


def test_healthy_machine_is_ready(capsys):
    assert doctor.main() == 0
    printed = capsys.readouterr().out
    assert torch.__version__ in printed
    assert "corpus wikipedia" in printed
    assert "ready: every chapter can run here" in printed


def test_missing_corpus_is_essential_and_says_what_to_do(monkeypatch, capsys):
    def load(name, **_):
        raise SourceUnavailableError(f"{name} needs gensim; pip install gensim")

    monkeypatch.setattr(doctor, "load_corpus", load)
    monkeypatch.setattr(doctor, "list_corpora", lambda: [])
    monkeypatch.setattr(doctor, "_standard_corpora", lambda names: doctor._own_corpus("wikipedia"))
    assert doctor.main() == 1
    printed = capsys.readouterr().out
    assert "!!  corpus wikipedia" in printed
    assert "pip install gensim" in printed


def test_damaged_standard_corpus_is_named(monkeypatch, tmp_path):
    (tmp_path / "ptb").mkdir()
    for split in ("train", "valid", "test"):
        (tmp_path / "ptb" / f"ptb.{split}.txt").write_text("not the treebank\n")
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    finding = doctor._standard_corpora(["ptb"])
    assert "'ptb' from source 'local'" in finding.advice
    assert not finding.is_essential


def test_wrong_attention_is_noticed(monkeypatch):
    monkeypatch.setattr(
        doctor, "attend", lambda query, key, value, mask, fused: query + (1 if fused else 0)
    )
    assert "reinstall" in doctor._attention().advice


@pytest.mark.parametrize("version", ["2.10.0", "2.14.1+cpu"])
def test_torch_out_of_range_is_essential(monkeypatch, version):
    monkeypatch.setattr(torch, "__version__", version)
    finding = doctor._torch()
    assert finding.is_essential
    assert "torch>=2.11,<2.14" in finding.advice


def test_command_teaches_the_others():
    command = [sys.executable, "-m", "course_pkg", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "course_pkg.train --help" in said
