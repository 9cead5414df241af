"""The book's page of measurements says what is recorded, and all of it."""

import json
import re
from collections.abc import Iterator

import pytest

from benchmarks import measured_page
from benchmarks.chapters import assistant
from course_pkg.results import benchmark

TOLD_TWICE = [  # section of the page, its row and column, who tells it too, with how many digits
    ("Is a film liked?", "sst2: bert-small, LoRA", "ours", "fine_tuning", 1),
    ("Is a film liked?", "sst2: GPT-1", "published", "fine_tuning", 1),
    ("Is a film liked?", "sst2: BERT-Mini, our BERT's shape", "published", "fine_tuning", 1),
    ("Is a film liked?", "mr: naive Bayes, n-grams up to 1, ten-fold", "ours", "fine_tuning", 1),
    ("Our GPT, and counting the same text", "Wikipedia (gensim): GPT, bits per byte", "ours",
     "gpt", 2),
    ("Our GPT, and counting the same text", "Wikipedia (gensim): GPT, bits per byte", "ours",
     "assistants", 2),
    ("Imitation, then preference", "before", "ours", "assistants", 2),
    ("Imitation, then preference", "loss on all tokens", "ours", "assistants", 2),
    ("Imitation, then preference", "loss on replies", "ours", "assistants", 2),
    ("Our GPT, and counting the same text", "Wikipedia (gensim): GPT, bits per byte", "ours",
     "fine_tuning", 2),
    ("Our GPT, and counting the same text", "Wikipedia (gensim): GPT, bits per byte", "ours",
     "what_pretraining_teaches", 2),
    ("Stories of known entropy", "the language itself", "ours", "language_models", 2),
    ("Stories of known entropy", "the language itself", "ours", "ngrams", 2),
    ("The small LSTM of Zaremba et al. on the Penn Treebank", "LSTM, 2 x 200, test", "ours",
     "recurrent", 1),
    ("The small LSTM of Zaremba et al. on the Penn Treebank", "LSTM, 2 x 200, test", "published",
     "recurrent", 1),
]  # fmt: skip


def rows_of_page() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Each row of the page: its section, its subject, its cells by the names of their columns."""
    for part in re.split(r"^##+ ", measured_page.PAGE.read_text(encoding="utf-8"), flags=re.M):
        columns: list[str] = []
        for line in part.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("| ") and "ours" in cells:
                columns = cells[1:]
            elif line.startswith("| ") and columns and not set(line) <= set("|-: "):
                yield part.splitlines()[0], cells[0], dict(zip(columns, cells[1:], strict=False))


def row_of(section: str, subject: str) -> dict[str, str]:
    """A row of the page, by the names of its columns."""
    (row,) = (row for *name, row in rows_of_page() if name == [section, subject])
    return row


def sentences(chapter: str) -> list[str]:
    """A chapter's prose without code and formulas, sentence by sentence and row by row."""
    text = (measured_page.CHAPTERS / f"{chapter}.md").read_text("utf-8").split("\n---\n", 1)[1]
    text = re.sub(r"^(`{3,})\{code-cell\}.*?^\1", "", text, flags=re.M | re.S)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]+\$|`[^`]*`", " ", text, flags=re.S)
    return re.split(r"(?<=[.!?])\s+|\n", text)


def says(sentence: str, number: str) -> bool:
    """Whether a sentence has this number, and not as a part of another."""
    return bool(re.search(rf"(?<![\d.,]){re.escape(number)}(?!\.?\d)", sentence))


def telling_words(text: str) -> set[str]:
    """The words by which a sentence and a row may mean the same thing."""
    common = {"with", "from", "that", "text", "test", "bits", "byte", "nats", "model", "ours"}
    return set(re.findall(r"[a-z][a-z-]{3,}", text.lower())) - common


@pytest.mark.parametrize(("section", "subject", "column", "chapter", "digits"), TOLD_TWICE)
def test_figure_that_a_chapter_tells_too_is_the_same_there(
    section, subject, column, chapter, digits
):
    told = f"{float(row_of(section, subject)[column]):.{digits}f}"
    assert any(says(sentence, told) for sentence in sentences(chapter)), told


def test_every_figure_that_a_chapter_tells_too_is_compared():
    """A number of three digits in a sentence that shares a word with its row is no chance."""
    compared = {
        (chapter, f"{float(row_of(section, subject)[column]):.{digits}f}")
        for section, subject, column, chapter, digits in TOLD_TWICE
    }
    found, missing = set(), []
    for path in sorted(measured_page.CHAPTERS.glob("*.md")):
        told = [(sentence, telling_words(sentence)) for sentence in sentences(path.stem)]
        for section, subject, row in rows_of_page():
            words = telling_words(f"{section} {subject}")
            for value in (row[column] for column in ("ours", "published") if row.get(column)):
                for digits in range(1, len(value.partition(".")[2]) + 1):
                    number = f"{float(value.replace(',', '')):.{digits}f}"
                    if len(number.replace(".", "").lstrip("-0")) < 3:
                        continue
                    here = [text for text, those in told if words & those and says(text, number)]
                    if here and (path.stem, number) in compared:
                        found.add((path.stem, number))
                    elif here:
                        missing.append((section, subject, value, path.stem, here[0]))
    assert missing == []
    assert len(found) >= 0.8 * len(compared)  # the rest stand in sentences with other words


def test_sentence_that_sends_the_reader_to_the_page_says_what_stands_there():
    page = [cell for _, _, row in rows_of_page() for cell in row.values() if cell]
    linked = []
    for path in sorted(measured_page.CHAPTERS.glob("*.md")):
        for line in path.read_text("utf-8").splitlines():
            for sentence in re.split(r"(?<=[.!?])\s+", line):
                if "](measured" in sentence or "measured.md" in sentence:
                    linked += re.findall(r"(?<![\d.,])\d+\.\d+(?![\d])", sentence)
    for number in linked:
        digits = len(number.partition(".")[2])
        assert any(f"{float(cell.replace(',', '')):.{digits}f}" == number for cell in page), number
    assert {"2.87", "3.03", "4.64"} <= set(linked)


def test_the_published_models_section_says_what_its_record_says():
    ratio = {"subject": "16 tokens, blocks", "peer": "ours, float32", "ratio": 0.3, "low": 0.29,
             "high": 0.31, "aim": 1 / 3}  # fmt: skip
    record = benchmark("peers") | {
        "ratios": [ratio],
        "chat_beyond_import_torch": {"megabytes": 207},
        "tokens_a_pass_by_prompt_lookup": 2.25,
    }
    text = "\n".join(measured_page._published_speed(record))
    assert "holds 207 MB" in text and "gives 2.2 tokens a pass" in text
    assert "| 16 tokens, blocks | ours, float32 | 0.30 | 0.29 to 0.31 |" in text
    assert "bits a byte" not in text
    bits = {"bits_a_byte": {"int8": 0.9712}, "scored": "first 9 tokens"}
    bits["bits_a_byte_with_activations_in_8_bits_by"] = {"token": 0.98765}
    text = "\n".join(measured_page._published_speed(record | bits))
    assert "| weights: int8 | 0.9712 |" in text
    assert "| activations in 8 bits, one scale a token | 0.9877 |" in text


def test_remarks_that_reconcile_the_page_with_chapters_hold():
    """Why preference is ahead on the page, and the GPT seems unbiased: the records say so."""
    offline = benchmark("story_assistant")["offline"]
    assert assistant.LR_OF_PAIRS == offline["DPO 0.1"]["lr"] == 3e-4
    assert offline["imitation"]["lr"] == 0.01
    ahead = {way: float(row_of("Imitation, then preference", f"{way}: its own stories")["ours"])
             for way in ("imitation", "preference")}  # fmt: skip
    assert ahead["preference"] > ahead["imitation"]
    for model, women, men in (("bert", 66, 21), ("gpt", 33, 42)):
        for job, share in (("nurse", women), ("soldier", men)):
            found = row_of("Grammar and bias by pairs of sentences",
                           f"{model}-small: she, of a {job} and the like")["ours"]  # fmt: skip
            assert abs(float(found) - share) < 1
    chapter = (measured_page.ROOT / "book/chapters/what_pretraining_teaches.md").read_text("utf-8")
    assert "**A** takes the pronoun's own probability" in chapter and "**B**, of the" in chapter


def test_page_of_the_book_is_what_the_records_say():
    written = measured_page.PAGE.read_text(encoding="utf-8")
    assert written == measured_page.page(), "run: python -m benchmarks.measured_page"


def test_record_without_a_place_on_the_page_is_told(tmp_path, monkeypatch):
    (tmp_path / "new.json").write_text(json.dumps({"what": "a new benchmark", "figures": []}))
    monkeypatch.setattr(measured_page, "RESULTS", tmp_path)
    with pytest.raises(ValueError, match="new"):
        measured_page.page()


def test_figures_show_published_ones_with_their_source():
    record = {
        "what": "nats a token, <eos> counted",
        "date": "2026-01-02",
        "command": "python -m it",
        "figures": [
            {"subject": "ours alone", "ours": 1.23456, "published": None, "source": "notes"},
            {"subject": "both", "ours": 28.8354, "published": 30.2, "source": "A 2020"},
            {"subject": "theirs", "ours": None, "published": 33.0, "source": "A 2020"},
        ],
    }
    what, table, sources, provenance = measured_page._figures("surnames", record)
    assert what == "Nats a token, `<eos>` counted."  # bare, it would be an element of HTML
    assert table.splitlines()[2:] == [
        "| ours alone | 1.235 |  |",
        "| both | 28.84 | 30.2 |",
        "| theirs |  | 33 |",
    ]
    assert sources.splitlines()[1:2] == ["- A 2020 (both, theirs)"]
    assert provenance == "*Recorded 2026-01-02:* `python -m it`"
