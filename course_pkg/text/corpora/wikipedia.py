"""Real English prose that needs no download: the Wikipedia articles in gensim's test data.

gensim ships the start of an English Wikipedia dump. Its own filter strips the markup; what is left
still holds headings, lists, captions and the holes where templates stood, so a paragraph is kept
only if it reads like prose. The result is cached, because cleaning takes seconds.
Chapter: what is a language model.
"""

import bz2
import hashlib
import json
import re
from contextlib import suppress
from pathlib import Path

from tqdm import tqdm

from course_pkg.common.files import write_atomically
from course_pkg.text.corpora.sources import (
    SourceUnavailableError,
    Splits,
    cache_folder,
    digest,
    some_home,
)

ARCHIVE = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
ARCHIVE_SHA256 = "a53f4648dec40467ebdcbc7a1307eddb51fe6e28e9309f6ebde81ba0d04bea2d"
TEXT_SHA256 = "e4dc7c79d7e264de730686db60d58cdf1d19138f85cdaeefd78cc0963bfb79d9"
"""Of the splits: what the archive must give after cleaning."""

_MIN_WORDS_PARAGRAPH = 8
_MIN_WORDS_ARTICLE = 100
_PROSE_END = (".", "?", "!", '."', ".”", ".)")
_HOLES = (
    (r"'{2,}", ""),  # bold and italic marks
    (r"&nbsp;|\s+", " "),
    (r"\(\s*[,;:]?\s*", "("),  # "( , born 1809)": the template before the comma is gone
    (r"\s*[,;]?\s*\)", ")"),
    (r" ?\(\)", ""),
    (r" +([,.;:])", r"\1"),
)


def clean_article(text: str) -> str:
    """Keep the prose of an article whose wiki markup is stripped: one paragraph per line.

    Args:
        text: what gensim's `filter_wiki` returns.
    """
    paragraphs = []
    for line in text.split("\n"):
        for pattern, replacement in _HOLES:
            line = re.sub(pattern, replacement, line)
        line = line.strip()
        is_sentence = line.endswith(_PROSE_END) and (line[0].isalnum() or line[0] in "\"“('")
        has_markup = re.search(r"[{}|<>\[\]=]|https?:", line) is not None
        if is_sentence and not has_markup and len(line.split()) >= _MIN_WORDS_PARAGRAPH:
            paragraphs.append(line)
    return "\n".join(paragraphs)


def wikipedia_articles(_folder: Path | None = None) -> Splits:
    """Return the cleaned articles, split by article: of every ten, eight, one and one.

    Raises:
        SourceUnavailableError: gensim, or its test data, is not installed.
        ValueError: the archive is not the one that this course pins.
    """
    folder = cache_folder()
    cached = None if folder is None else folder / f"wikipedia-{TEXT_SHA256[:16]}.json"
    if cached is not None:
        # No cache yet, or one that something has damaged: digest may meet any JSON.
        with suppress(OSError, ValueError, TypeError, AttributeError):
            train, valid, test = json.loads(cached.read_text(encoding="utf-8"))
            if digest((train, valid, test)) == TEXT_SHA256:
                return train, valid, test
    splits: Splits = ([], [], [])
    for i, article in enumerate(_read_archive()):
        splits[max(0, i % 10 - 7)].append(article)
    if cached is not None:
        with suppress(OSError):  # a full disk, or a folder that is for reading alone
            write_atomically(cached, json.dumps(splits, ensure_ascii=False))
    return splits


def _read_archive() -> list[str]:
    try:
        with some_home():
            from gensim.corpora.wikicorpus import extract_pages, filter_wiki
            from gensim.test.utils import datapath
    except ImportError as error:
        raise SourceUnavailableError("gensim is missing; pip install 'gensim>=4.3,<5'") from error
    archive = Path(datapath(ARCHIVE))
    if not archive.is_file():
        raise SourceUnavailableError(f"this gensim comes without its test data {ARCHIVE}")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != ARCHIVE_SHA256:
        raise ValueError(f"{archive} has sha256 {found}; the course pins {ARCHIVE_SHA256}")
    with bz2.open(archive) as file:
        pages = [text for _, text, _ in extract_pages(file)]
    articles = [clean_article(filter_wiki(text)) for text in tqdm(pages, "cleaning", disable=None)]
    return [text for text in articles if len(text.split()) >= _MIN_WORDS_ARTICLE]
