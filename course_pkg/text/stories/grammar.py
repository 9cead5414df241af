"""A small language whose entropy is known exactly: stories told by a grammar with a memory.

Most text comes from a source that nobody knows, so a model's perplexity has no zero point. Here the
source is ours. A story is a walk through a few states; each state picks one of its sentences, and
a sentence picks words and recalls words picked before: the hero returns after any number of
sentences about other things. The choices fix the text and the text fixes the choices, so the
entropy of the text is the sum of the entropies of the choices, weighted by how often each is made:
one small linear system. Reading a story along all the walks that could still have produced it gives
the best possible prediction of every next word (the forward algorithm, Baum et al. 1970).
Chapter: what is a language model.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from course_pkg.common.checks import whole_numbers
from course_pkg.text.stories.lexicon import GLAD, LEXICON, PRONOUNS, SAD, STORY, recall
from course_pkg.text.stories.sampling import pick_weighted, seeded
from course_pkg.text.tokenizers.vocabulary import EOS

_END = "end"

Memory = frozenset[tuple[str, str]]
"""What has been picked so far, as (kind, word) pairs."""


@dataclass(frozen=True)
class Story:
    """One sampled story.

    Attributes:
        words: its tokens, punctuation included, without `<eos>`.
        recalls: (position in `words`, slot) of every word that an earlier pick determines.
        n_distractions: sentences between the first and the second mention of the object.
    """

    words: tuple[str, ...]
    recalls: tuple[tuple[int, str], ...]
    n_distractions: int

    @property
    def text(self) -> str:
        """The story as a reader expects it, without spaces before punctuation."""
        text = " ".join(self.words)
        for mark in ".,?":
            text = text.replace(f" {mark}", mark)
        return text


class _Walk(NamedTuple):
    """Where a story may stand: what it remembers, what it is saying, where it goes next."""

    memory: Memory
    pending: tuple[str, ...]
    state: str


class StoryGrammar:
    """The source of stories: samples them, knows its entropy, and predicts as well as possible.

    Args:
        more: probability of one more distraction after each (the distance knob).
        n_distractions: exactly that many distractions instead.
        mood_consistency: probability that the feeling at the end is of the kind at the start.

    Raises:
        ValueError: a probability outside [0, 1), or a negative number of distractions.

    Example:
        >>> grammar = StoryGrammar()
        >>> 1.0 < grammar.floor_perplexity() < 2.5
        True
    """

    def __init__(
        self,
        *,
        more: float = 0.6,
        n_distractions: int | None = None,
        mood_consistency: float = 0.85,
    ) -> None:
        if not 0 <= more < 1:
            raise ValueError(f"more is {more}; it must be at least 0 and below 1")
        if not 0 <= mood_consistency <= 1:
            raise ValueError(f"mood_consistency is {mood_consistency}; it is a probability")
        if n_distractions is not None and n_distractions < 0:
            raise ValueError(f"n_distractions is {n_distractions}; it must not be negative")
        self.mood_consistency = mood_consistency
        self._rules = {
            state: tuple((p, tuple(said.split()), after) for p, said, after in choices)
            for state, choices in _with_middle(more, n_distractions).items()
        }

    def _lexicon(self, kind: str, memory: Mapping[str, str]) -> Sequence[tuple[str, float]]:
        """Words of a kind with their probabilities, summing to one."""
        if kind == "feeling":
            return [(word, p / 2) for mood in (GLAD, SAD) for word, p in _zipf(mood)]
        if kind == "feeling_again":
            same, other = (GLAD, SAD) if memory["feeling"] in GLAD else (SAD, GLAD)
            moods = ((same, self.mood_consistency), (other, 1 - self.mood_consistency))
            return [(word, p * share) for mood, share in moods if share for word, p in _zipf(mood)]
        return _zipf(LEXICON[kind])

    def _steps(self, walk: _Walk) -> Iterator[tuple[float, str, _Walk]]:
        """Yield every next word of a walk: its probability, itself, and where it leads."""
        if not walk.pending:
            if walk.state == _END:
                yield 1.0, EOS, _START
                return
            for p, said, after in self._rules[walk.state]:
                for q, word, next_walk in self._steps(_Walk(walk.memory, said, after)):
                    yield p * q, word, next_walk
            return
        head, rest = walk.pending[0], walk.pending[1:]
        if head.startswith("["):
            memory = dict(walk.memory)
            for word, p in self._lexicon(head[1:-1], memory):
                picked = frozenset({**memory, head[1:-1]: word}.items())
                yield p, word, _Walk(picked, rest, walk.state)
        else:
            word = recall(head[1:-1], dict(walk.memory)) if head.startswith("{") else head
            yield 1.0, word, _Walk(walk.memory, rest, walk.state)

    def start(self) -> "StoryFilter":
        """Return a reader that stands before the first word of a story."""
        return StoryFilter(self, {_START: 1.0})

    def log_probs(self, words: Sequence[str]) -> list[float]:
        """Score a story's words, and `<eos>` after them, in nats; impossible words score -inf."""
        reader, scores = self.start(), []
        for word in (*words, EOS):
            p = reader.next_probs().get(word, 0.0)
            scores.append(math.log(p) if p > 0 else -math.inf)
            if p == 0:
                return scores + [-math.inf] * (len(words) + 1 - len(scores))
            reader = reader.read(word)
        return scores

    def n_parses(self, words: Sequence[str]) -> int:
        """Count the walks that tell exactly these words; the entropy is exact because it is one."""
        walks: Counter[_Walk] = Counter({_START: 1})
        for word in (*words, EOS):
            after: Counter[_Walk] = Counter()
            for walk, n in walks.items():
                for _, said, next_walk in self._steps(walk):
                    if said == word:
                        after[next_walk] += n
            walks = after
        return walks[_START]

    def entropy(self) -> tuple[float, float]:
        """Return the exact entropy of a story in nats, and its expected number of tokens.

        With h the entropy of the choices made in a state, l the words said there, P the
        probabilities of going from state to state and v the expected number of visits,
        v = e_opening + P' v; the answers are v.h and v.l + 1, the one being `<eos>`.
        """
        states = list(self._rules)
        index = {state: i for i, state in enumerate(states)}
        h, length = np.zeros(len(states)), np.zeros(len(states))
        transition = np.zeros((len(states), len(states)))
        for i, state in enumerate(states):
            for p, said, after in self._rules[state]:
                h[i] += p * (sum(self._pick_entropy(w) for w in said) - math.log(p))
                length[i] += p * len(said)
                if after != _END:
                    transition[i, index[after]] += p
        visits = np.linalg.solve(
            np.eye(len(states)) - transition.T, np.eye(len(states))[index["opening"]]
        )
        return float(visits @ h), float(visits @ length) + 1

    def _pick_entropy(self, word: str) -> float:
        """Entropy in nats of what a template's word may become; it never depends on memory."""
        if not word.startswith("["):
            return 0.0
        any_memory = {"feeling": GLAD[0]}
        return -sum(p * math.log(p) for _, p in self._lexicon(word[1:-1], any_memory))

    def floor_perplexity(self) -> float:
        """Return the lowest perplexity that any model can reach in the long run, `<eos>` counted.

        exp(entropy of a story / expected tokens of a story): the perplexity of the source itself.
        """
        nats, n_tokens = self.entropy()
        return math.exp(nats / n_tokens)

    def vocabulary(self) -> list[str]:
        """Return every word that a story can contain, in alphabetical order."""
        said = {w for choices in self._rules.values() for _, words, _ in choices for w in words}
        words = {w for w in said if w[0] not in "[{"} | {"was", "were"}
        words.update(w for kind in LEXICON.values() for w in kind)
        words.update(w for forms in PRONOUNS.values() for w in forms)
        return sorted(words | set(GLAD) | set(SAD))

    def sample(self, n: int, *, seed: int) -> list[Story]:
        """Tell `n` stories; the same seed gives the same stories on every version of Python.

        Raises:
            ValueError: a negative `n`.
        """
        whole_numbers(at_least=0, n=n)
        rng = seeded(seed)
        return [self._tell(rng) for _ in range(n)]

    def _tell(self, rng: random.Random) -> Story:
        words: list[str] = []
        recalls: list[tuple[int, str]] = []
        memory: dict[str, str] = {}
        state, n_distractions = "opening", 0
        while state != _END:
            n_distractions += state.startswith("distraction")
            choices = [((said, after), p) for p, said, after in self._rules[state]]
            said, state = pick_weighted(choices, rng)
            for word in said:
                if word.startswith("["):
                    kind = word[1:-1]
                    memory[kind] = word = pick_weighted(self._lexicon(kind, memory), rng)
                elif word.startswith("{"):
                    recalls.append((len(words), word[1:-1]))
                    word = recall(word[1:-1], memory)
                words.append(word)
        return Story(tuple(words), tuple(recalls), n_distractions)


class StoryFilter:
    """A reader of stories: all the walks that could have told what was read, with their weights.

    `next_probs` is then the exact probability of every next word given the words so far, which is
    what a perfect language model of this source would say. After `<eos>` a new story begins.
    """

    def __init__(self, grammar: StoryGrammar, walks: Mapping[_Walk, float]) -> None:
        self._grammar = grammar
        self._steps = [
            (weight * p, word, after)
            for walk, weight in walks.items()
            for p, word, after in grammar._steps(walk)
        ]
        self._next_probs: defaultdict[str, float] = defaultdict(float)
        for p, word, _ in self._steps:
            self._next_probs[word] += p

    def next_probs(self) -> dict[str, float]:
        """Return the probability of every possible next word, `<eos>` among them; sums to one."""
        return dict(self._next_probs)

    def read(self, word: str) -> "StoryFilter":
        """Return the reader one word further.

        Raises:
            ValueError: the grammar cannot say this word here.
        """
        walks: defaultdict[_Walk, float] = defaultdict(float)
        for p, said, after in self._steps:
            if said == word:
                walks[after] += p
        total = sum(walks.values())
        if total == 0:
            raise ValueError(f"word {word!r} cannot come next; {sorted(self.next_probs())} can")
        return StoryFilter(self._grammar, {walk: p / total for walk, p in walks.items()})


_START = _Walk(frozenset(), (), "opening")


def _with_middle(
    more: float, n_distractions: int | None
) -> dict[str, tuple[tuple[float, str, str], ...]]:
    """Add to the story what happens between the object's first and second mention."""
    if n_distractions is None:
        if more == 0:
            n_distractions = 0
        else:
            return {**STORY, "middle": ((more, "", "distraction"), (1 - more, "", "return"))}
    rules = {state: choices for state, choices in STORY.items() if state != "distraction"}
    names = ["return", *(f"distraction {left}" for left in range(1, n_distractions + 1))]
    rules["middle"] = ((1.0, "", names[-1]),)
    for after, name in pairwise(names):
        rules[name] = tuple((p, said, after) for p, said, _ in STORY["distraction"])
    return rules


@cache
def _zipf(words: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """Give the word of rank r a probability proportional to 1 / r."""
    total = sum(1 / rank for rank in range(1, len(words) + 1))
    return tuple((word, 1 / rank / total) for rank, word in enumerate(words, 1))
