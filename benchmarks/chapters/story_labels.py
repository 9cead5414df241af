"""How many labels do the story tasks need? bert-small's weights against new ones.

    python -m benchmarks.chapters.story_labels [--record FILE]

Two tasks whose text is drawn from the book's grammars, so that the best possible is 100 %:
  reviews      is a review kind? "But" and "not" turn it round (`Reviews`, without noise)
  inference    does a sentence follow from another, contradict it, or neither (`Inferences`)
With 50, 200 and 1,000 labels, of which each of three seeds draws its own, four ways to adapt the
model, each with its own setting for each number of labels, as in `benchmarks.chapters.label_curve`:
a new layer on frozen vectors, LoRA, everything; and everything from new weights. 200 examples
choose, 500 report; no text of these is among those to learn from. All read [CLS]. Some 15 minutes
of one core.
"""

from collections.abc import Callable, Sequence

from benchmarks.chapters.adaptation import pair_readings
from benchmarks.chapters.backbones import Pretrained, Reading
from benchmarks.chapters.label_curve import FIRST_RATE, FewLabels, LabelRecording, frozen
from benchmarks.weights.pretrained_rows import digest
from course_pkg.text.corpora.labelled_data import Labelled
from course_pkg.text.stories.tasks import LABELS, Inferences, Reviews

N_EPOCHS = {50: 24, 200: 10, 1000: 4}
N_TRAIN, N_VALID, N_TEST = 4000, 200, 500


def reviews(n: int, seed: int) -> list[Labelled]:
    """Draw reviews that mean what they say."""
    drawn = Reviews(noise=0.0).sample(n, seed=seed)
    return [Labelled(review.text, ("bad", "good")[review.label]) for review in drawn]


def inferences(n: int, seed: int) -> list[Labelled]:
    """Draw premises with a hypothesis each."""
    drawn = Inferences().sample(n, seed=seed)
    return [Labelled(pair.premise, pair.label, pair.hypothesis) for pair in drawn]


class StoryLabels(FewLabels):
    """A task as `FewLabels` has it, its text drawn here.

    Args:
        labels: the classes.
        draw: so many examples, by a seed.
    """

    def __init__(self, labels: Sequence[str], draw: Callable[[int, int], list[Labelled]]) -> None:
        self.labels, self.n_epochs = tuple(labels), N_EPOCHS
        asked = list(dict.fromkeys(draw(4 * (N_VALID + N_TEST), 1)))[: N_VALID + N_TEST]
        self.valid, self.test = asked[:N_VALID], asked[N_VALID:]
        known = set(asked)
        self.train = [one for one in draw(2 * N_TRAIN, 2) if one not in known][:N_TRAIN]

    def read(self, model: Pretrained, records: Sequence[Labelled]) -> list[Reading]:
        """Lay texts out as the model knows them; a pair with its two segments."""
        if records[0].second is not None:
            return pair_readings(model, None, records)
        return super().read(model, records)


TASKS = {
    "reviews": (("bad", "good"), reviews),
    "inference": (LABELS, inferences),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    recording = LabelRecording(
        arguments,
        __doc__,
        __file__,
        what="percent of story texts labelled rightly, by seed",
        n_epochs=N_EPOCHS,
        weights={"bert-small": digest("bert-small")},
        arms=[f"{method}, {name}" for name in TASKS for method in ("frozen", *FIRST_RATE)],
    )
    for name, (labels, draw) in TASKS.items():
        task, model = StoryLabels(labels, draw), Pretrained("bert-small")
        model.name = name
        if any(recording.lacks(f"frozen, {name}", n_labels) for n_labels in N_EPOCHS):
            for n_labels, result in frozen(task, model, "summary", N_EPOCHS).items():
                recording.add(f"frozen, {name}", n_labels, result)
        for n_labels in N_EPOCHS:
            for method, start in FIRST_RATE.items():
                recording.search(task, model, method, n_labels, start)


if __name__ == "__main__":
    main()
