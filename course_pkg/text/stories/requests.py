"""Requests for a story, and the rule that judges a reply to one.

On its own no text of this world answers a request: stories stand alone, and requests stand in lists
of nothing but requests, as they do on the page of an exercise book. So a model of this text goes on
from a request with another one, and has to be taught that a story is wanted.
Chapter: assistants.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from course_pkg.common.checks import whole_numbers
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.stories.lexicon import GLAD, LEXICON, SAD
from course_pkg.text.stories.sampling import pick, seeded

FORMS = (
    "Now tell me of {hero} and a {thing} .",
    "Write a story with {hero} and a {thing} .",
    "Who has a {thing} ? Write of {hero} .",
)
"""Ways to ask, all of nine tokens, so that requests make a batch without padding."""


@dataclass(frozen=True)
class Request:
    """A wish for a story about somebody and something, and the words that say it."""

    hero: str
    thing: str
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """The request, its tokens joined by spaces."""
        return " ".join(self.words)


@dataclass(frozen=True)
class Verdict:
    """What the rule says of a reply: a good one meets all three demands.

    Attributes:
        is_story: the grammar can tell it, word for word, from the first to the end.
        is_asked: its hero and its thing are those of the request.
        ends_well: the last feeling in it is a good one.
    """

    is_story: bool
    is_asked: bool
    ends_well: bool

    @property
    def is_good(self) -> bool:
        """Whether all three demands are met."""
        return self.is_story and self.is_asked and self.ends_well


class Requests:
    """The source of requests, of replies to them, and the judge of anybody's replies.

    Heroes and things are drawn evenly: in a reply the story is drawn from the grammar until it is
    about both.

    Args:
        grammar: of the stories.

    Example:
        >>> requests = Requests(StoryGrammar(more=0.3))
        >>> request, story = requests.sample(1, seed=1)[0]
        >>> requests.judge(request, story).is_asked
        True
    """

    def __init__(self, grammar: StoryGrammar) -> None:
        self.grammar = grammar

    def sample(self, n: int, *, seed: int) -> list[tuple[Request, tuple[str, ...]]]:
        """Draw requests, each with the words of a story that it asks for.

        Raises:
            ValueError: a negative `n`.
        """
        whole_numbers(at_least=0, n=n)
        rng = seeded(seed)
        stories = self.grammar.sample(n, seed=seed)
        return [self._pair(story.words, rng) for story in stories]

    def lists(self, n: int, *, seed: int) -> list[str]:
        """Draw texts of three to six requests, which nobody answers.

        Raises:
            ValueError: a negative `n`.
        """
        whole_numbers(at_least=0, n=n)
        rng = seeded(seed)
        return [
            " ".join(
                _ask(pick(LEXICON["hero"], rng), pick(LEXICON["object"], rng), rng).text
                for _ in range(3 + int(rng.random() * 4))
            )
            for _ in range(n)
        ]

    def judge(self, request: Request, reply: Sequence[str]) -> Verdict:
        """Judge the words of a reply, its end not among them.

        Raises:
            ValueError: a reply that is one string.
        """
        if isinstance(reply, str):
            raise ValueError(f"reply is {reply!r:.30}, one string; it must be a list of words")
        heroes = {word for word in reply if word in LEXICON["hero"]}
        things = {word for word in reply if word in LEXICON["object"]}
        feelings = [word for word in reply if word in GLAD or word in SAD]
        return Verdict(
            is_story=math.isfinite(self.grammar.log_probs(reply)[-1]),
            is_asked=heroes == {request.hero} and things == {request.thing},
            ends_well=bool(feelings) and feelings[-1] in GLAD,
        )

    def _pair(self, words: tuple[str, ...], rng: random.Random) -> tuple[Request, tuple[str, ...]]:
        hero = next(word for word in words if word in LEXICON["hero"])
        thing = next(word for word in words if word in LEXICON["object"])
        return _ask(hero, thing, rng), words


def _ask(hero: str, thing: str, rng: random.Random) -> Request:
    words = pick(FORMS, rng).format(hero=hero, thing=thing).split()
    return Request(hero, thing, tuple(words))
