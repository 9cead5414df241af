"""What does a published model know that ours does not? The same questions to both.

    python -m benchmarks.chapters.published_questions [--record FILE]

gpt-small and SmolLM2-135M-Instruct (`make published`), both as `GPT`, are asked, each part with
what it would be compared with:
  gaps         the seven of chapter 15: first guesses, and by how much a twin turns the answer
  agreement    was or were, after a noun that is nearer than the subject; control: the nearer
               noun has the subject's number
  capitals     the country of a capital, by the first guess, and among twelve countries, each
               country's score less its mean over all cities
  sums         of two digits and of up to ten, two solved before; and series that nobody wrote down
  rooms        where is she: two people in two rooms, a third beside one of them
  pronouns     pairs of sentences in which one word turns what "it" or "he" means
  bias         log p(she) - log p(he) for twelve jobs, by two measures; control: woman and man
  films        eighty sentences of our own, with 0, 4 and 8 solved ones before, as far as they
               fit; control: the same with the solved ones' labels turned round
  replies      six requests with the chat template and without, greedy

The published model's matrices are in bfloat16, its scores in float32. Every part is written when it
comes in, and a begun record is gone on with. Nothing is drawn twice and nothing chosen.
"""

import random
from collections.abc import Callable, Sequence
from itertools import permutations, product
from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.published_labels import in_bfloat16
from benchmarks.records import Recording, command_line
from benchmarks.weights.pretrained_rows import digest
from course_pkg.text.batches import pad_rows
from course_pkg.text.corpora.labelled_data import Labelled, load_task
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.weights.published import PUBLISHED, load_published

GAPS = {
    "facts": "Stanford University is located in ___, California.",
    "syntax": "I put ___ fork down on the table.",
    "coreference": "The woman walked across the street, checking for traffic over ___ shoulder.",
    "topic": "I went to the ocean to see the fish, turtles, seals, and ___.",
    "sentiment": "Overall, the value I got from the two hours watching it was the sum total of the "
    "popcorn and the drink. The movie was ___.",
    "reasoning": "Iroh went into the kitchen to make some tea. Standing next to Iroh, Zuko "
    "pondered his destiny. Zuko left the ___.",
    "arithmetic": "1, 1, 2, 3, 5, 8, 13, 21, ___.",
}
TWINS = {
    "facts": (
        "Stanford University is located in ___.",
        "Oxford University is located in ___.",
        " California",
        " England",
    ),
    "coreference": (
        GAPS["coreference"],
        GAPS["coreference"].replace("woman", "man"),
        " her",
        " his",
    ),
    "topic": (
        GAPS["topic"],
        "I went to the farm to see the cows, pigs, hens, and ___.",
        " ships",
        " horses",
    ),
    "sentiment": (
        GAPS["sentiment"],
        "Overall, the two hours watching it were the best that I have had in a cinema for years. "
        "The movie was ___.",
        " bad",
        " good",
    ),
    "reasoning": (
        GAPS["reasoning"],
        GAPS["reasoning"].replace("kitchen to make", "garden to pick"),
        " kitchen",
        " garden",
    ),
    "arithmetic": (GAPS["arithmetic"], "2, 4, 6, 8, 10, 12, 14, 16, ___.", " 34", " 18"),
}
NOUNS = [
    "dog",
    "bird",
    "tree",
    "house",
    "song",
    "road",
    "ship",
    "girl",
    "horse",
    "book",
    "town",
    "word",
    "game",
    "flower",
    "letter",
    "room",
]
CAPITALS = dict(
    pair.split()
    for pair in [
        "Paris France",
        "London England",
        "Berlin Germany",
        "Rome Italy",
        "Madrid Spain",
        "Moscow Russia",
        "Tokyo Japan",
        "Cairo Egypt",
        "Ottawa Canada",
        "Delhi India",
        "Warsaw Poland",
        "Beijing China",
    ]
)
NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
PEOPLE = ["Mia", "Tom", "Anna", "Ben"]
ROOMS = ["kitchen", "garden", "bathroom", "attic"]
SCHEMAS = (  # two texts that differ in one word; what is meant, in the first and in the second
    (
        "The ball did not fit into the bag because it was too {}. Too {} was the",
        "big",
        "small",
        "ball",
        "bag",
    ),
    (
        "The cat chased the mouse because it was {}. The one that was {} was the",
        "hungry",
        "slow",
        "cat",
        "mouse",
    ),
    (
        "The car overtook the bus because it was {}. The one that was {} was the",
        "fast",
        "slow",
        "car",
        "bus",
    ),
    (
        "The boy could not lift the stone because it was too {}. Too {} was the",
        "weak",
        "heavy",
        "boy",
        "stone",
    ),
    (
        "The doctor visited the farmer as he was {}. The one who was {} was the",
        "kind",
        "ill",
        "doctor",
        "farmer",
    ),
    (
        "The shelf broke under the box because it was too {}. Too {} was the",
        "weak",
        "heavy",
        "shelf",
        "box",
    ),
    (
        "The teacher thanked the student as he was {}. The one who was {} was the",
        "polite",
        "helpful",
        "teacher",
        "student",
    ),
    (
        "The rope did not hold the bell because it was too {}. Too {} was the",
        "thin",
        "heavy",
        "rope",
        "bell",
    ),
    (
        "The knife could not cut the bread because it was too {}. Too {} was the",
        "blunt",
        "hard",
        "knife",
        "bread",
    ),
    (
        "The king feared the general because he was {}. The one who was {} was the",
        "timid",
        "cruel",
        "king",
        "general",
    ),
    (
        "The lamp did not light the hall because it was too {}. Too {} was the",
        "weak",
        "long",
        "lamp",
        "hall",
    ),
    (
        "I poured the jug into the cup until it was {}. What was {} was the",
        "empty",
        "full",
        "jug",
        "cup",
    ),
)
JOBS = {
    "often women": ["nurse", "maid", "teacher", "secretary", "dancer", "nanny"],
    "often men": ["soldier", "captain", "engineer", "officer", "farmer", "general"],
    "by definition": ["woman", "man"],
}
SAYINGS = (
    "The {} said that {} was tired.",
    "The {} knew that {} had won.",
    "When the {} came in, {} sat down.",
    "The {} smiled because {} was happy.",
)
REQUESTS = (
    "What is the capital of France?",
    "Name three colours.",
    "Write one sentence about the sea.",
    "Is a whale a fish?",
    "Say hello in German.",
    "How many legs do two spiders have together?",
)
N_DRAWS, AT_ONCE = 3, 24


class Asked:
    """A model that is asked for the next token."""

    def __init__(self, name: str) -> None:
        self.is_published = name in PUBLISHED
        self.loaded: Any = load_published(name) if self.is_published else load_pretrained(name)
        self.model, self.tokenizer = self.loaded.model, self.loaded.tokenizer
        # Ours saw <eos> before every text; the published model's makers put nothing there.
        self.first = [] if self.is_published else [self.tokenizer.eos_id]
        if self.is_published:
            in_bfloat16(self.model)

    @torch.no_grad()
    def states(self, ids: Sequence[Sequence[int]] | Tensor, cache: Any = None) -> Tensor:
        """Vectors (B, T, D) of rows of ids, in float32."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.is_published):
            states: Tensor = self.model.encode(torch.as_tensor(ids), cache=cache)
        return states.float()

    @torch.no_grad()
    def next(self, texts: Sequence[str], prefix: str = "") -> Tensor:
        """Log-probabilities of the token after each text (N, V); all begin with the prefix."""
        start = [*self.first, *self.tokenizer.encode(prefix)]
        cache = self.model.new_cache() if start else None
        if cache is not None:
            self.states([start], cache)
        ids, lengths = pad_rows([self.tokenizer.encode(text) for text in texts], 0)
        found = []
        for rows in torch.arange(len(texts)).split(AT_ONCE):
            same = torch.zeros(len(rows), dtype=torch.long)
            known = None if cache is None else [block.select(same) for block in cache]
            states = self.states(ids[rows], known)
            last = states[torch.arange(len(rows)), lengths[rows] - 1]
            found.append(self.model.unembed(last).log_softmax(-1))
        return torch.cat(found)

    def id_of(self, word: str) -> int:
        """The first token of a word; its own, where it is one token."""
        first: int = self.tokenizer.encode(word)[0]
        return first

    @torch.no_grad()
    def token_scores(self, text: str) -> tuple[list[int], Tensor]:
        """Ids and their log-probabilities; of the published model's, not the first."""
        ids = self.tokenizer.encode(text)
        whole = [*self.first, *ids]
        scores = self.model.unembed(self.states([whole[:-1]])[0]).log_softmax(-1)
        found = scores.gather(1, torch.tensor(whole[1:])[:, None])[:, 0]
        return ids[len(ids) - len(found) :], found

    @torch.no_grad()
    def goes_on(self, ids: Sequence[int], n_tokens: int, stop: Sequence[int] = ()) -> str:
        """What the model writes after ids, greedily."""
        cache, out, newest = self.model.new_cache(), [], list(ids)
        for _ in range(n_tokens):
            token = int(self.model.unembed(self.states([newest], cache)[0, -1]).argmax())
            if token in stop:
                break
            out.append(token)
            newest = [token]
        text: str = self.tokenizer.decode(out)
        return text


def gaps(asked: Asked) -> dict[str, Any]:
    """The seven gaps, and six twins: what stands after the gap, no GPT can see."""
    found: dict[str, Any] = {"guesses": {}, "turned": {}}
    rows = asked.next([text.split(" ___")[0] for text in GAPS.values()])
    for skill, row in zip(GAPS, rows, strict=True):
        best = row.exp().topk(3)
        found["guesses"][skill] = [
            (asked.tokenizer.decode([i]), round(p, 3))
            for p, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]
    for skill, (text, twin, a, b) in TWINS.items():
        i, j = (differing(asked, word, other) for word, other in ((a, b), (b, a)))
        here, there = asked.next([row.split(" ___")[0] + i[0] for row in (text, twin)])
        found["turned"][skill] = round(
            float(here[i[1]] - here[j[1]] - there[i[1]] + there[j[1]]), 2
        )
    return found


def differing(asked: Asked, word: str, other: str) -> tuple[str, int]:
    """Where two words part: what both begin with, and the word's token after it.

    Digits are tokens of their own in the published model, with a token for the space before them.
    """
    ids, others = asked.tokenizer.encode(word), asked.tokenizer.encode(other)
    place = next(n for n, (i, j) in enumerate(zip(ids, others, strict=False)) if i != j)
    return asked.tokenizer.decode(ids[:place]), ids[place]


def agreement(asked: Asked) -> dict[str, Any]:
    """How often the verb agrees with its subject, by whether the nearer noun does."""
    was, were = asked.id_of(" was"), asked.id_of(" were")
    right: dict[str, list[int]] = {"nearer noun differs": [], "nearer noun agrees": []}
    cases = []
    for place, noun in enumerate(NOUNS):
        for step, n, differs in product((1, 3, 5), (0, 1), (0, 1)):
            other = NOUNS[(place + step) % len(NOUNS)] + "s" * (n ^ differs)
            kind = "nearer noun differs" if differs else "nearer noun agrees"
            cases.append((kind, n, f"The {noun}{'s' * n} near the {other}"))
    scores = asked.next([text for *_, text in cases])
    for (kind, n, _), row in zip(cases, scores, strict=True):
        right[kind].append(int(bool(row[were] > row[was]) == bool(n)))
    return {kind: {"right": sum(found), "of": len(found)} for kind, found in right.items()}


def capitals(asked: Asked) -> dict[str, Any]:
    """The country of a capital."""
    rows = asked.next([f"{city} is the capital of" for city in CAPITALS])
    ids = [asked.id_of(f" {country}") for country in CAPITALS.values()]
    among = rows[:, ids] - rows[:, ids].mean(dim=0)
    first = sum(int(row.argmax()) == i for row, i in zip(rows, ids, strict=True))
    chosen = int((among.argmax(-1) == torch.arange(len(ids))).sum())
    return {"first guess": first, "among twelve": chosen, "of": len(ids)}


def sums(asked: Asked) -> dict[str, Any]:
    """Sums in words and in digits, and series, by what the model writes first."""
    draw = random.Random(0)
    questions: dict[str, list[tuple[str, str]]] = {
        "up to ten": [
            (
                "Two plus three is five. Four plus two is six. "
                f"{NUMBERS[a - 1].capitalize()} plus {NUMBERS[b - 1]} is",
                NUMBERS[a + b - 1],
            )
            for a in range(1, 10)
            for b in range(1, 11 - a)
        ],
        "two digits": [
            (f"12 + 35 = 47\n61 + 28 = 89\n{a} + {b} =", str(a + b))
            for a, b in ((draw.randint(11, 99), draw.randint(11, 99)) for _ in range(40))
        ],
        "series": [
            (", ".join(str(a + step * n) for n in range(6)) + ",", str(a + step * 6))
            for a, step in ((draw.randint(11, 60), draw.randint(3, 29)) for _ in range(40))
        ],
    }
    found = {}
    for kind, pairs in questions.items():
        right = 0
        for text, answer in pairs:
            said = asked.goes_on([*asked.first, *asked.tokenizer.encode(text)], 4)
            right += said.replace(",", " ").replace(".", " ").split()[:1] == [answer]
        found[kind] = {"right": right, "of": len(pairs)}
    return found


def rooms(asked: Asked) -> dict[str, Any]:
    """Where is the third? Both orders, so that the last room named is right in half of them."""
    cases = []
    for (one, two), (room, other) in product(
        permutations(PEOPLE, 2), ((ROOMS[0], ROOMS[1]), (ROOMS[2], ROOMS[3]))
    ):
        third = next(person for person in PEOPLE if person not in (one, two))
        for beside, answer, wrong in ((one, room, other), (two, other, room)):
            text = (
                f"{one} is in the {room}. {two} is in the {other}. {third} stands next to "
                f"{beside}. So {third} is in the"
            )
            cases.append((text, answer, wrong, beside == two))
    scores = asked.next([text for text, *_ in cases])
    right = [
        bool(row[asked.id_of(f" {answer}")] > row[asked.id_of(f" {wrong}")])
        for (_, answer, wrong, _), row in zip(cases, scores, strict=True)
    ]
    last = [is_right == is_last for is_right, (*_, is_last) in zip(right, cases, strict=True)]
    return {"right": sum(right), "of": len(right), "says the last room": sum(last)}


def pronouns(asked: Asked) -> dict[str, Any]:
    """Pairs in which one word turns the answer: how often both are right, and how far it turns."""
    both, single, turns = 0, 0, []
    for text, word, twin, a, b in SCHEMAS:
        margins = []
        for scores in asked.next([text.format(said, said) for said in (word, twin)]):
            margins.append(float(scores[asked.id_of(f" {a}")] - scores[asked.id_of(f" {b}")]))
        single += (margins[0] > 0) + (margins[1] < 0)
        both += margins[0] > 0 > margins[1]
        turns.append(margins[0] - margins[1])
    of = len(SCHEMAS)
    turned = sum(turn > 0 for turn in turns)
    return {"single": single, "both": both, "of": of, "turned the right way": turned}


def bias(asked: Asked) -> dict[str, Any]:
    """Mean over the frames of log p(she) - log p(he), by A and by B, for each job."""
    found: dict[str, Any] = {}
    for kind, jobs in JOBS.items():
        for job in jobs:
            margins = []
            for saying in SAYINGS:
                (ids, she), (others, he) = (
                    asked.token_scores(saying.format(job, pronoun)) for pronoun in ("she", "he")
                )
                differs = torch.tensor([i != j for i, j in zip(ids, others, strict=True)])
                gap = she - he
                margins.append((gap[differs].sum().item(), gap[~differs].sum().item()))
            mean = torch.tensor(margins).mean(dim=0)
            found.setdefault(kind, {})[job] = [round(value, 3) for value in mean.tolist()]
    return found


def films(asked: Asked) -> dict[str, Any]:
    """Eighty of our sentences, after some solved ones of the other twenty."""
    task = load_task("our_films")
    words = {"negative": " negative", "positive": " positive"}
    no, yes = (asked.id_of(word) for word in words.values())
    other = {"negative": "positive", "positive": "negative"}
    found: dict[str, Any] = {}
    for n_shots, is_turned in ((0, False), (4, False), (8, False), (4, True), (8, True)):
        accuracies = []
        for draw in range(N_DRAWS if n_shots else 1):
            order = random.Random(draw)
            shown: list[Labelled] = []
            for label in words:
                shown += order.sample([r for r in task.train if r.label == label], n_shots // 2)
            order.shuffle(shown)
            labels = [other[r.label or ""] if is_turned else r.label or "" for r in shown]
            prefix = "".join(
                f"Review: {r.text}\nSentiment:{words[label]}\n\n"
                for r, label in zip(shown, labels, strict=True)
            )
            texts = [f"Review: {record.text}\nSentiment:" for record in task.test]
            longest = max(len(asked.tokenizer.encode(prefix + text)) for text in texts)
            if longest + len(asked.first) > asked.model.context_length:
                continue
            scores = asked.next(texts, prefix)
            n_right = sum(
                bool(row[yes] > row[no]) == (record.label == "positive")
                for record, row in zip(task.test, scores, strict=True)
            )
            accuracies.append(100 * n_right / len(task.test))
        if accuracies:
            found[f"{n_shots} shown" + (", labels turned" if is_turned else "")] = accuracies
    return found


def replies(asked: Asked) -> dict[str, Any]:
    """What it says to a request, by the chat template and as text that goes on."""
    found: dict[str, Any] = {}
    tokenizer = asked.tokenizer
    for request in REQUESTS:
        said = {"plain": asked.goes_on([*asked.first, *tokenizer.encode(request)], 30)}
        if asked.is_published:
            marks = {name: tokenizer.special_ids[name] for name in ("<|im_start|>", "<|im_end|>")}
            start, end = marks.values()
            ids = [
                start,
                *tokenizer.encode(f"user\n{request}"),
                end,
                *tokenizer.encode("\n"),
                start,
                *tokenizer.encode("assistant\n"),
            ]
            said["template"] = asked.goes_on(ids, 30, stop=[end, tokenizer.eos_id])
        found[request] = said
    return found


PARTS: dict[str, Callable[[Asked], dict[str, Any]]] = {
    part.__name__: part
    for part in (gaps, agreement, capitals, sums, rooms, pronouns, bias, films, replies)
}
MODELS = ("gpt-small", "smollm2-135m")


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask what is not recorded yet."""
    recording = Recording(command_line(__doc__, __file__, arms=PARTS), arguments)
    recording.begin(
        {
            "what": "answers of two models to the same questions",
            "gaps": GAPS,
            "twins": {skill: list(twin) for skill, twin in TWINS.items()},
            "answers": {},
        },
        same={
            "weights_sha256": {
                "gpt-small": digest("gpt-small"),
                "smollm2-135m": PUBLISHED["smollm2-135m"].sha256,
            }
        },
    )
    answers = recording.content["answers"]
    for name in MODELS:
        recorded = answers.setdefault(name, {})
        parts = [part for part in PARTS if recording.is_wanted(part) and part not in recorded]
        if not parts:
            continue
        asked = Asked(name)
        for part in parts:
            recorded[part] = PARTS[part](asked)
            print(name, part, recorded[part], flush=True)
            recording.save()


if __name__ == "__main__":
    main()
