"""Story tasks by number of labels: nothing asked was learned from, and the record is whole."""

import pytest

from benchmarks.chapters import story_labels
from benchmarks.chapters.backbones import Pretrained
from benchmarks.chapters.label_curve import FIRST_RATE
from course_pkg.results import benchmark


@pytest.mark.parametrize("name", story_labels.TASKS)
def test_texts_to_learn_from_are_none_of_those_asked_and_all_labels_come(name):
    labels, draw = story_labels.TASKS[name]
    task = story_labels.StoryLabels(labels, draw)
    sizes = (story_labels.N_VALID, story_labels.N_TEST)
    assert (len(task.valid), len(task.test)) == sizes
    texts = [{(r.text, r.second) for r in part} for part in (task.train, task.valid, task.test)]
    assert not texts[0] & (texts[1] | texts[2]) and not texts[1] & texts[2]
    for part in (task.drawn(50, 0), task.valid, task.test):
        assert {record.label for record in part} == set(labels)
    model = Pretrained("bert-small")
    readings = task.read(model, task.test[:3])
    assert [reading.target for reading in readings] == task.targets(task.test[:3])
    segments = {segment for reading in readings for segment in reading.segments or [0]}
    assert segments == ({0, 1} if name == "inference" else {0})


def test_record_has_every_arm_and_no_better_rate_beside_the_chosen():
    record = benchmark("story_labels")
    assert record["n_epochs"] == {str(n): k for n, k in story_labels.N_EPOCHS.items()}
    for task in story_labels.TASKS:
        for method in ("frozen", *FIRST_RATE):
            runs = record["arms"][f"{method}, {task}"]
            assert [*runs] == [str(n) for n in story_labels.N_EPOCHS]
            for run in runs.values():
                assert len(run["test_accuracy"]) == 3
                if method != "frozen":
                    rates, lr = run["valid_accuracy_by_rate"], f"{run['setting']['lr']:.1g}"
                    assert rates[lr] == max(rates.values()) and lr in [*rates][1:-1]
