"""Text that is to be written: files as they are published, turns, references, splits."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from course_pkg.text.corpora import labelled_data, load_task
from course_pkg.text.corpora.written_data import (
    ENTRIES,
    Written,
    read_dialogues,
    read_facts,
    replies,
)

DIALOGUES = (
    '{"fname": "d0", "dialogue": "#Person1#: Hi!\\n#Person2#: Oh, hi.\\n#Person1#: Tea?", '
    '"summary": "They meet. ", "topic": "tea"}\n'
    '{"fname": "t0", "dialogue": "#Person1#: One.\\n#Person2#: Two.", "summary1": "a", '
    '"topic1": "x", "summary2": "b", "topic2": "y", "summary3": "c", "topic3": "z"}\n'
)
FACTS = (
    'mr,ref\n"name[Zizzi], food[Thai]","Zizzi, a ""Thai"" place."\n'
    "name[Alimentum],Alimentum it is.\n"
    '"name[Zizzi], food[Thai]",Zizzi is Thai.\n'
)


def test_dialogues_have_one_summary_or_several():
    one, several = read_dialogues(DIALOGUES.split("\n"))
    assert one.references == ("They meet.",)
    assert several == Written("#Person1#: One.\n#Person2#: Two.", ("a", "b", "c"))


def test_every_turn_but_the_first_is_a_reply_to_all_before_it():
    found = replies(read_dialogues(DIALOGUES.split("\n"))[:1])
    assert found == [
        Written("#Person1#: Hi!", ("#Person2#: Oh, hi.",)),
        Written("#Person1#: Hi!\n#Person2#: Oh, hi.", ("#Person1#: Tea?",)),
    ]


def test_equal_facts_are_one_record_with_all_their_sentences():
    zizzi, alimentum = read_facts(FACTS.split("\n"))
    assert zizzi == Written("name[Zizzi], food[Thai]", ('Zizzi, a "Thai" place.', "Zizzi is Thai."))
    assert alimentum.references == ("Alimentum it is.",)


def test_tasks_are_read_from_a_folder_and_no_dialogue_crosses_a_split(tmp_path, monkeypatch):
    for name in ENTRIES:
        entries = labelled_data.TASKS.entries
        monkeypatch.setitem(entries, name, replace(entries[name], check=None))
    row = '{{"dialogue": "A: {0}\\nB: {0}.\\nA: Bye {0}.", "summary": "{0}"}}'
    (tmp_path / "dialogsum").mkdir()
    for split, numbers in (("dev", range(60)), ("test", range(60, 70))):
        text = "\n".join(row.format(n) for n in numbers)
        (tmp_path / f"dialogsum/dialogsum.{split}.jsonl").write_text(text)
    whole = load_task("dialogsum_small", folder=tmp_path)
    turns = load_task("dialogsum_replies", folder=tmp_path)
    assert len(whole.train) + len(whole.valid) == 60 and whole.valid
    for split in ("train", "valid", "test"):
        assert getattr(turns, split) == replies(getattr(whole, split))


@pytest.mark.skipif("COURSE_DATA" not in os.environ, reason="optional: the standard data files")
@pytest.mark.parametrize(("name", "n_references"), [("dialogsum_small", 1500), ("e2e_small", 4693)])
def test_published_files_have_their_references(name, n_references):
    """1,500 summaries and 4,693 sentences of the test sets are what the papers count."""
    task = load_task(name, folder=Path(os.environ["COURSE_DATA"]))
    assert sum(len(record.references) for record in task.test) == n_references


def test_text_that_differs_from_the_published_is_refused(tmp_path):
    (tmp_path / "e2e_nlg").mkdir()
    for name in ("devset", "testset_w_refs"):
        (tmp_path / f"e2e_nlg/{name}.csv").write_text(FACTS)
    with pytest.raises(ValueError, match=r"'e2e_small' from source 'local' has sha256"):
        load_task("e2e_small", folder=tmp_path)
