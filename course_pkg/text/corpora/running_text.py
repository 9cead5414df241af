"""Running text to learn a language from, in three splits, from whatever source this machine has.

Four corpora need no network and no files: "stories" (generated, entropy known exactly),
"wikipedia" and "names" (shipped inside packages), "reference" (shipped with Python). The standard
benchmarks are read from a local folder or from a public hub. A corpus says which source supplied
it, and a text that is not the published one is refused.
Chapter: what is a language model.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from course_pkg.text.corpora.catalogue import (
    Catalogue,
    Dataset,
    DatasetInfo,
    Entry,
    has_counts,
    has_digest,
)
from course_pkg.text.corpora.sources import (
    SourceUnavailableError,
    Splits,
    read_hub,
    read_local,
    split_by_digest,
)
from course_pkg.text.corpora.wikipedia import TEXT_SHA256, wikipedia_articles
from course_pkg.text.corpora.wikitext import prose_articles
from course_pkg.text.stories.grammar import StoryGrammar


@dataclass(frozen=True)
class Corpus(Dataset[str]):
    """Documents in three splits, and where they come from."""


def load_corpus(name: str, *, source: str = "auto", folder: str | Path | None = None) -> Corpus:
    """Load a corpus in three splits.

    Args:
        name: one of those in `list_corpora`.
        source: "local", "package", "generated" or "hub"; "auto" takes the first that works.
        folder: local folder of standard files (plain or .gz); default: COURSE_DATA.

    Raises:
        ValueError: an unknown name or source, a source that this text does not have, or a text
            that differs from the published one.
        SourceUnavailableError: no source can supply it here; the message lists each reason.

    Example:
        >>> load_corpus("reference").source
        'package: pydoc_data.topics'
    """
    return CORPORA.load(name, source=source, folder=folder)


def list_corpora() -> list[DatasetInfo]:
    """Return name, sources, size, licence and description of every corpus."""
    return CORPORA.rows()


def name_frequencies() -> dict[str, float]:
    """Return the share of the US population, in percent, that bears each last name (1990 census).

    Raises:
        SourceUnavailableError: the `names` package is not installed.
    """
    rows = (line.split() for line in _names_file("dist.all.last").splitlines())
    return {name.lower(): float(percent) for name, percent, *_ in rows}


def _stories(_folder: Path | None) -> Splits:
    grammar = StoryGrammar()
    sizes = {1: 20_000, 2: 1_000, 3: 1_000}  # seed: number of stories
    train, valid, test = ([s.text for s in grammar.sample(n, seed=i)] for i, n in sizes.items())
    return train, valid, test


def _names_file(file_name: str) -> str:
    found = find_spec("names")
    if found is None or found.origin is None:
        raise SourceUnavailableError("the names package is missing; pip install names==0.3.0")
    return (Path(found.origin).parent / file_name).read_text(encoding="ascii")


def _names(_folder: Path | None) -> Splits:
    files = ("dist.female.first", "dist.male.first", "dist.all.last")
    lines = (line for file in files for line in _names_file(file).splitlines())
    return split_by_digest(sorted({line.split()[0].lower() for line in lines}))


def reference_prose(topic: str) -> str:
    """Keep the prose paragraphs of a topic of Python's language reference, one per line.

    Args:
        topic: its plain text, with headings, indented code and grammar rules.
    """
    paragraphs = []
    for block in re.split(r"\n\s*\n", topic):
        lines = block.split("\n")
        is_prose = not lines[0].startswith((" ", "*", "=", "-")) and "::=" not in block
        text = " ".join(" ".join(lines).split())
        if is_prose and len(text.split()) >= 8 and text.endswith((".", ":")):
            paragraphs.append(text)
    return "\n".join(paragraphs)


def _reference(_folder: Path | None) -> Splits:
    from pydoc_data.topics import topics

    documents = (reference_prose(topics[name]) for name in sorted(topics))
    return split_by_digest(document for document in documents if document)


def _lines_of_files(pattern: str) -> Callable[[Path | None], Splits]:
    """Load three files whose names differ in the split; every line is a document."""

    def load(folder: Path | None) -> Splits:
        train, valid, test = (_lines(read_local(folder, pattern.format(s))) for s in _SPLITS)
        return train, valid, test

    return load


def _one_file(path: str) -> Callable[[Path | None], Splits]:
    """Load one file as three documents: its first 90 % of characters, then 5 % and 5 %."""

    def load(folder: Path | None) -> Splits:
        text = read_local(folder, path)
        first, second = len(text) * 90 // 100, len(text) * 95 // 100
        return [text[:first]], [text[first:second]], [text[second:]]

    return load


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.removesuffix("\n").split("\n")]


def _paragraphs(text: str) -> list[str]:
    return [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]


def _marked_documents(text: str) -> list[str]:
    return [story.strip() for story in text.split("<|endoftext|>") if story.strip()]


def _halves(validation: list[str]) -> tuple[list[str], list[str]]:
    """Make a test split where only a validation split is published."""
    return validation[: len(validation) // 2], validation[len(validation) // 2 :]


def _tiny_stories_files(folder: Path | None) -> Splits:
    train = _marked_documents(read_local(folder, "tinystories/TinyStories-train.txt"))
    valid = _marked_documents(read_local(folder, "tinystories/TinyStories-valid.txt"))
    return train, *_halves(valid)


def _tiny_stories_excerpt(folder: Path | None) -> Splits:
    train = _paragraphs(read_local(folder, "tinystories/train_sample.txt"))
    valid = _paragraphs(read_local(folder, "tinystories/valid_sample.txt"))
    return train, *_halves(valid)


def _tiny_stories_hub(_folder: Path | None) -> Splits:
    train, valid = (
        [row["text"].strip() for row in read_hub("roneneldan/TinyStories", None, split)]
        for split in ("train", "validation")
    )
    return train, *_halves(valid)


def _tales(folder: Path | None) -> Splits:
    train, valid, test = (
        _marked_documents(read_local(folder, f"tales/{split}.txt")) for split in _SPLITS
    )
    return train, valid, test


def _wikitext_hub(_folder: Path | None, *, config: str) -> Splits:
    train, valid, test = (
        [row["text"].strip() for row in read_hub("Salesforce/wikitext", config, split)]
        for split in ("train", "validation", "test")
    )
    return train, valid, test


def _library(folder: Path | None) -> Splits:
    """Join a quarter of the stories with all running prose that may be passed on."""
    stories = tuple(split[: len(split) // 4] for split in _stories(folder))
    wikitext = _lines_of_files("wikitext2/wiki.{}.tokens")(folder)
    shelves = (
        stories,
        wikipedia_articles(folder),
        _tiny_stories_excerpt(folder),
        _one_file("warandpeace/war_and_peace.txt")(folder),
        tuple(prose_articles(split) for split in wikitext),
    )
    train, valid, test = (
        [text for shelf in shelves for text in shelf[number]] for number in range(3)
    )
    return train, valid, test


def _n_tokens(lines: list[str]) -> int:
    """Count tokens as the benchmarks do: words between white space, and one end per line."""
    return sum(len(line.split()) + 1 for line in lines)


def _wikitext(number: int, size: str, check: Callable[[Splits], None]) -> Entry:
    folder = f"wikitext{number}"
    return Entry(
        loaders={
            "local": _lines_of_files(folder + "/wiki.{}.tokens"),
            "hub": partial(_wikitext_hub, config=f"wikitext-{number}-v1"),
        },
        licence="CC BY-SA 3.0",
        size=size,
        description="Good Wikipedia articles, tokenized, rare words <unk> (Merity et al. 2017); "
        "one document per line, so that tokens with <eos> are counted as published",
        origin={"local": f"{folder}/wiki.*.tokens", "hub": "Salesforce/wikitext"},
        check=check,
    )


_SPLITS = ("train", "valid", "test")

_ENTRIES: dict[str, Entry] = {
    "stories": Entry(
        loaders={"generated": _stories},
        licence="Apache-2.0",
        size="20,000 + 1,000 + 1,000 stories, 0.96M tokens",
        description="Stories of a grammar whose entropy is known exactly; one document per story",
        origin={"generated": "course_pkg.text.stories.grammar"},
        check=has_digest("661ecd719c2d29f1a9a47f03dcffed7cf44212b9a2744a567543b6dbc1396259"),
    ),
    "wikipedia": Entry(
        loaders={"package": wikipedia_articles},
        licence="CC BY-SA 3.0",
        size="96 articles, 383k words",
        description="Prose of the English Wikipedia; one document per article",
        origin={"package": "gensim's test data"},
        check=has_digest(TEXT_SHA256),
    ),
    "names": Entry(
        loaders={"package": _names},
        licence="MIT",
        size="91,910 names",
        description="First and last names of the US census of 1990, lower case; "
        "one document per name",
        origin={"package": "names"},
        check=has_digest("fdb4138bcebaf02f72f8fcaedbd9b7f59a23aea1551bcde33c8a30549c29f8ef"),
    ),
    "reference": Entry(
        loaders={"package": _reference},
        licence="PSF",
        size="77 topics, about 30k words, varying with Python's version",
        description="Prose of Python's language reference; one document per topic",
        origin={"package": "pydoc_data.topics"},
    ),
    "ptb": Entry(
        loaders={"local": _lines_of_files("ptb/ptb.{}.txt")},
        licence="LDC user agreement; not redistributable",
        size="929,589 + 73,760 + 82,430 tokens with <eos>",
        description="Penn Treebank as preprocessed by Mikolov et al. (2010); one document per line",
        origin={"local": "ptb/ptb.*.txt"},
        check=has_digest("2da0e411dcdf4318825c4466363a963c46cbf01077018c854223bf19961824fd"),
    ),
    "wikitext2": _wikitext(
        2,
        "2,088,628 + 217,646 + 245,569 tokens with <eos>",
        has_digest("18ed9709311c883aa62b13be5e58715df13dec21c3b820abf812d6b34810a8da"),
    ),
    "wikitext103": _wikitext(
        103,
        "103,227,021 + 217,646 + 245,569 tokens with <eos>",
        has_counts((103_227_021, 217_646, 245_569), _n_tokens, "tokens"),
    ),
    "tinyshakespeare": Entry(
        loaders={"local": _one_file("tinyshakespeare/input.txt")},
        licence="public domain",
        size="1,115,394 characters",
        description="Scenes of Shakespeare (Karpathy 2015); three documents, cut at 90 and 95 %",
        origin={"local": "tinyshakespeare/input.txt"},
        check=has_digest("bb75fec63c0e5f068cfa111da90fbc0c624a05d900e28339d8b74aa16a913b3b"),
    ),
    "warandpeace": Entry(
        loaders={"local": _one_file("warandpeace/war_and_peace.txt")},
        licence="public domain in the US",
        size="563k words",
        description="Tolstoy's novel, Maude's translation; three documents, cut at 90 and 95 %",
        origin={"local": "warandpeace/war_and_peace.txt"},
        check=has_digest("37bab787f1acb710f70edfc10a1cb7b4d8a899fad6ee4075c5d73412af8842e0"),
    ),
    "makemore_names": Entry(
        loaders={
            "local": lambda folder: split_by_digest(_lines(read_local(folder, "names/names.txt")))
        },
        licence="MIT",
        size="32,033 names",
        description="First names (Karpathy 2022); one document per name",
        origin={"local": "names/names.txt"},
        check=has_digest("3583953b4b8f111aecd4d82860c93c2d6a255ee9c4ad0edc47693019aa10349e"),
    ),
    "tinystories": Entry(
        loaders={"local": _tiny_stories_files, "hub": _tiny_stories_hub},
        licence="CDLA-Sharing-1.0",
        size="2.1M stories",
        description="Stories for small children by GPT-3.5 and GPT-4 (Eldan and Li 2023); one "
        "document a story; the published validation file is halved into validation and test",
        origin={"local": "tinystories/TinyStories-*.txt", "hub": "roneneldan/TinyStories"},
        check=has_counts((2_119_719, 10_995, 10_995), len, "stories"),
    ),
    "tinystories_excerpt": Entry(
        loaders={"local": _tiny_stories_excerpt},
        licence="CDLA-Sharing-1.0",
        size="339k words",
        description="The heads of the two files of TinyStories; one document per paragraph",
        origin={"local": "tinystories/*_sample.txt"},
        check=has_digest("9803debd4dd80ca85e7b74288fa2463e773b51147eb32055a7830b02ae96830e"),
    ),
    "tales": Entry(
        loaders={"local": _tales},
        licence="public domain in the US and where the term is life + 70 years",
        size="2,292 + 56 + 46 documents, 5.42M + 0.12M + 0.11M words",
        description="92 books of fairy tales and children's novels of 1820-1922, with the "
        "prejudices of their time; one document per tale or chapter; whole books are held out",
        origin={"local": "tales/*.txt"},
        check=has_digest("739086e6c4a12da4e2d34c6b942e616e06cbfaeb811e6c957ec05e29c6c342e4"),
    ),
    "library": Entry(
        loaders={"local": _library},
        licence="CC BY-SA 3.0, CDLA-Sharing-1.0 and public domain, by part",
        size="2.16M + 0.20M + 0.18M words",
        description="Stories, wikipedia, tinystories_excerpt, warandpeace, and wikitext2 without "
        "sentences that have unknown words: what the course's own models are pretrained on",
        origin={"local": "wikitext2, tinystories and warandpeace"},
        check=has_digest("0acf77bf46835f491ed7fd7cd025935e03c3cdab8ab9c7d75394540282fc218d"),
    ),
}

CORPORA = Catalogue("corpora", Corpus, _ENTRIES)
