"""Corpora and the sources behind them."""

import errno
import gzip
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_pkg.common import files
from course_pkg.text.corpora import (
    list_corpora,
    load_corpus,
    name_frequencies,
    reference_prose,
    sources,
    wikipedia,
)
from course_pkg.text.corpora import running_text as corpora
from course_pkg.text.corpora.sources import SourceUnavailableError, digest, split_by_digest


@pytest.fixture(autouse=True)
def no_local_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def wikitext_folder(tmp_path):
    folder = tmp_path / "data" / "wikitext2"
    folder.mkdir(parents=True)
    (folder / "wiki.train.tokens").write_text(" \n = Robert = \n \n Robert <unk> is an actor . \n")
    (folder / "wiki.valid.tokens").write_text(" a b \n")
    (folder / "wiki.test.tokens.gz").write_bytes(gzip.compress(b" c \n d e \n"))
    return folder.parent


def raise_no_home():
    raise RuntimeError("Could not determine home directory.")


def raise_read_only(**_):
    raise OSError(errno.EROFS, "Read-only file system")


@pytest.mark.slow
def test_stories_come_in_three_disjoint_draws():
    corpus = load_corpus("stories")
    assert corpus.source == "generated: course_pkg.text.stories.grammar"
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (20_000, 1_000, 1_000)
    assert corpus.valid != corpus.test
    assert corpus.train[0].endswith((".", "?"))
    assert "train" not in repr(corpus)  # a repr that prints a corpus helps nobody


def test_wikipedia_is_the_pinned_text_and_comes_from_the_cache_the_second_time(monkeypatch):
    first = load_corpus("wikipedia")
    assert first.sha256() == wikipedia.TEXT_SHA256
    assert [len(split) for split in (first.train, first.valid, first.test)] == [78, 9, 9]
    words = re.findall(r"[A-Za-z]+(?:'[a-z]+)?", " ".join(first.train + first.valid + first.test))
    assert len(words) == 382_946  # what the list of corpora promises
    monkeypatch.setattr(wikipedia, "_read_archive", None)  # calling it now would fail
    assert load_corpus("wikipedia") == first


def test_wikipedia_repairs_a_damaged_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(wikipedia, "_read_archive", lambda: ["only article"])
    cached = sources.cache_folder() / f"wikipedia-{wikipedia.TEXT_SHA256[:16]}.json"
    for damage in ('[["changed"], [], []]', "[[", "[]", "5", '[[["a"]], [], []]', "[[{}], [], []]"):
        cached.write_text(damage)
        assert wikipedia.wikipedia_articles() == (["only article"], [], [])
    with pytest.raises(ValueError, match="'wikipedia' from source 'package' has sha256"):
        load_corpus("wikipedia")


@pytest.mark.parametrize("place", ["file", "file/under", "readable", "none"])
def test_wikipedia_needs_no_folder_to_keep_it_in(place, tmp_path, monkeypatch):
    monkeypatch.setattr(wikipedia, "_read_archive", lambda: ["only article"])
    monkeypatch.delenv("COURSE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (tmp_path / "file").touch()
    if place == "none":  # a user whom the machine does not know, in a container
        monkeypatch.setattr(Path, "home", raise_no_home)
    elif place == "readable":
        monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
        monkeypatch.setattr(files.tempfile, "NamedTemporaryFile", raise_read_only)
    else:
        monkeypatch.setenv("HOME", str(tmp_path / place))
    before = sorted(tmp_path.rglob("*"))
    assert wikipedia.wikipedia_articles() == (["only article"], [], [])
    assert sorted(tmp_path.rglob("*")) == before


NAMELESS = """
import os, pwd

def unknown(uid):
    raise KeyError(uid)

pwd.getpwuid = unknown
from course_pkg.text.corpora import wikipedia

wikipedia.ARCHIVE = "of no gensim"
try:
    wikipedia.wikipedia_articles()
except wikipedia.SourceUnavailableError as error:
    print(error, "HOME" in os.environ)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there a user always has a home")
def test_wikipedia_is_read_for_a_user_without_name_or_home():
    kept = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    kept.pop("COURSE_CACHE", None)
    done = subprocess.run(  # in a process of its own: gensim asks when it is imported
        [sys.executable, "-c", NAMELESS], env=kept, capture_output=True, text=True, check=False
    )
    assert done.stdout == ("this gensim comes without its test data of no gensim False\n"), (
        done.stderr
    )


def test_article_cleaning_keeps_prose_only():
    raw = """==History==
'''Anna''' ( , born 1809 ) was the ''first'' letter of the alphabet&nbsp;known .

* a list item that has as many words as a sentence should have.
Short line.
A caption of a picture without its full stop at the end
He said that "all of the markup is gone from this line."
See http://example.org for all of the other things that we left out."""
    assert wikipedia.clean_article(raw).split("\n") == [
        "Anna (born 1809) was the first letter of the alphabet known.",
        'He said that "all of the markup is gone from this line."',
    ]


def test_names_are_distinct_lower_case_and_split_for_good():
    corpus = load_corpus("names")
    everyone = corpus.train + corpus.valid + corpus.test
    assert len(everyone) == len(set(everyone)) == 91_910
    assert all(re.fullmatch("[a-z]+", name) for name in everyone)
    assert 0.79 < len(corpus.train) / len(everyone) < 0.81
    shares = name_frequencies()
    assert max(shares, key=shares.__getitem__) == "smith"
    assert shares["smith"] == pytest.approx(1.006, abs=1e-9)  # the census' own figure
    assert len(shares) == 88_799


def test_reference_keeps_prose_only():
    topic = """The "if" statement
******************

The "if" statement is used for conditional
execution of parts of a program:

   if_stmt ::= "if" expression

Too short.

   indented code that has as many words as a sentence has."""
    assert reference_prose(topic) == (
        'The "if" statement is used for conditional execution of parts of a program:'
    )
    corpus = load_corpus("reference")
    assert sum(len(text.split()) for text in corpus.train) > 20_000


def test_unknown_name_lists_what_exists():
    with pytest.raises(ValueError, match=r"'moby_dick'.*stories, wikipedia, names, reference, ptb"):
        load_corpus("moby_dick")


def test_unknown_source_and_folder_are_named():
    with pytest.raises(ValueError, match="source is 'cloud'"):
        load_corpus("ptb", source="cloud")
    with pytest.raises(ValueError, match=r"source is 'hub', but 'stories' comes from"):
        load_corpus("stories", source="hub")
    with pytest.raises(ValueError, match="no such folder"):
        load_corpus("ptb", folder="/nowhere/at/all")


def test_missing_corpus_says_what_to_do(tmp_path):
    with pytest.raises(SourceUnavailableError, match=r"'ptb'.*pass folder= or set COURSE_DATA"):
        load_corpus("ptb")
    with pytest.raises(SourceUnavailableError, match=r"ptb\.train\.txt"):
        load_corpus("ptb", folder=tmp_path)


def test_changed_local_text_is_refused(wikitext_folder):
    with pytest.raises(ValueError, match=r"'wikitext2' from source 'local' has sha256 .* differ"):
        load_corpus("wikitext2", folder=wikitext_folder)


def allow_any_text(monkeypatch):
    for name, entry in corpora.CORPORA.entries.items():
        monkeypatch.setitem(corpora.CORPORA.entries, name, replace(entry, check=None))


def test_local_files_are_read_plain_or_packed(wikitext_folder, monkeypatch):
    allow_any_text(monkeypatch)
    monkeypatch.setenv("COURSE_DATA", str(wikitext_folder))
    corpus = load_corpus("wikitext2")
    assert corpus.source == "local: wikitext2/wiki.*.tokens"
    # blank lines stay: the published counts have one <eos> for each
    assert corpus.train == ["", "= Robert =", "", "Robert <unk> is an actor ."]
    assert corpus.test == ["c", "d e"]


def hub(rows: dict[str, list[dict]], error: Exception | None = None) -> SimpleNamespace:
    """A stand-in for the `datasets` library."""

    def load_dataset(path, config, split):
        if error is not None:
            raise error
        return rows[split]

    library_errors = SimpleNamespace(DatasetsError=type("DatasetsError", (Exception,), {}))
    return SimpleNamespace(load_dataset=load_dataset, exceptions=library_errors)


def test_hub_gives_the_same_text_as_local_files(wikitext_folder, monkeypatch):
    allow_any_text(monkeypatch)
    local = load_corpus("wikitext2", folder=wikitext_folder)
    rows = {
        "train": ["", " = Robert = \n", "", " Robert <unk> is an actor . \n"],
        "validation": [" a b \n"],
        "test": [" c \n", " d e \n"],
    }
    stub = hub({split: [{"text": line} for line in lines] for split, lines in rows.items()})
    monkeypatch.setitem(sys.modules, "datasets", stub)
    online = load_corpus("wikitext2", source="hub")
    assert online.source == "hub: Salesforce/wikitext"
    assert online.sha256() == local.sha256()


def test_hub_text_with_wrong_counts_is_refused(monkeypatch):
    rows = {split: [{"text": "Once."}] * 4 for split in ("train", "validation", "test")}
    monkeypatch.setitem(sys.modules, "datasets", hub(rows))
    with pytest.raises(ValueError, match=r"'tinystories' .* has \(4, 2, 2\) stories"):
        load_corpus("tinystories")
    with pytest.raises(ValueError, match=r"has \(8, 8, 8\) tokens .*103227021"):
        load_corpus("wikitext103")


def test_offline_hub_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", hub({}, ConnectionError("no route to host")))
    with pytest.raises(SourceUnavailableError, match=r"no route to host.*pass folder="):
        load_corpus("wikitext103")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(SourceUnavailableError, match=r"pip install .*\[hub\]"):
        load_corpus("wikitext103", source="hub")


def test_tiny_stories_files_are_cut_at_their_marks(tmp_path, monkeypatch):
    allow_any_text(monkeypatch)
    (tmp_path / "tinystories").mkdir()
    for split, n in (("train", 3), ("valid", 4)):
        text = "".join(f"Story {i}.\n\nEnd.\n<|endoftext|>\n" for i in range(n))
        (tmp_path / f"tinystories/TinyStories-{split}.txt").write_text(text)
    corpus = load_corpus("tinystories", folder=tmp_path)
    assert corpus.train == [f"Story {i}.\n\nEnd." for i in range(3)]
    assert [text[6] for text in corpus.valid + corpus.test] == ["0", "1", "2", "3"]


def test_packages_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr("course_pkg.text.corpora.running_text.find_spec", lambda name: None)
    with pytest.raises(SourceUnavailableError, match=r"pip install names==0\.3\.0"):
        load_corpus("names")
    monkeypatch.setitem(sys.modules, "gensim.test.utils", None)
    with pytest.raises(SourceUnavailableError, match="pip install 'gensim"):
        load_corpus("wikipedia")


def test_another_archive_is_refused(monkeypatch):
    monkeypatch.setattr(wikipedia, "ARCHIVE_SHA256", "0" * 64)
    with pytest.raises(ValueError, match="the course pins 0000"):
        load_corpus("wikipedia")


def test_what_is_always_at_hand_comes_first_in_the_list():
    assert [row.name for row in list_corpora()][:4] == [
        *("stories", "wikipedia", "names", "reference")
    ]


def test_digest_tells_splits_and_records_apart():
    texts = [(["a", "b"], [], []), (["ab"], [], []), (["a"], ["b"], []), (["a", "b"], [""], [])]
    assert len({digest(splits) for splits in texts}) == len(texts)


def test_split_by_digest_is_stable_and_covers_all():
    records = [str(i) for i in range(1000)]
    train, valid, test = split_by_digest(records)
    assert sorted(train + valid + test) == sorted(records)
    assert split_by_digest(reversed(records))[1] == valid[::-1]
    assert 760 < len(train) < 840


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "n_tokens"),
    [("ptb", (929_589, 73_760, 82_430)), ("wikitext2", (2_088_628, 217_646, 245_569))],
)
def test_token_counts_match_published(shared_data, name, n_tokens):
    corpus = load_corpus(name, folder=shared_data)
    splits = (corpus.train, corpus.valid, corpus.test)
    assert tuple(sum(len(d.split()) + 1 for d in split) for split in splits) == n_tokens
    vocabulary = {word for document in corpus.train for word in document.split()}
    assert len(vocabulary) + 1 == {"ptb": 10_000, "wikitext2": 33_278}[name]


@pytest.mark.shared_data
@pytest.mark.parametrize(
    "name",
    [
        "tinyshakespeare",
        "warandpeace",
        "makemore_names",
        "tinystories_excerpt",
        "tales",
        "library",
    ],
)
def test_local_corpora_are_the_pinned_texts(shared_data, name):
    corpus = load_corpus(name, folder=shared_data)
    if name == "tinyshakespeare":
        whole = "".join(corpus.train + corpus.valid + corpus.test)
        assert len(whole) == 1_115_394
        assert len(set(whole)) == 65
    assert corpus.train and corpus.valid and corpus.test


@pytest.mark.shared_data
def test_tales_have_the_counts_that_their_collection_states(shared_data):
    corpus = load_corpus("tales", folder=shared_data)
    splits = (corpus.train, corpus.valid, corpus.test)
    assert [len(split) for split in splits] == [2_292, 56, 46]
    assert [sum(len(t.split()) for t in split) for split in splits] == [5_420_755, 120_950, 112_212]
    assert not any("endoftext" in text for split in splits for text in split)
