"""The words and sentences of the stories: what `course_pkg.text.stories.grammar` tells.

This is data with one rule beside it: which word a recalled slot must have. Sentences are written
as they are told, a space between tokens; `[kind]` picks a word and `{slot}` recalls one.
Chapter: what is a language model.
"""

from collections.abc import Mapping

GIRLS = ("Anna", "Mia", "Lucy", "Emma", "Rosa", "Zoe")
BOYS = ("Tom", "Ben", "Max", "Sam", "Leo", "Finn")
GLAD = ("happy", "cheerful", "glad", "proud")
SAD = ("sad", "lonely", "upset", "gloomy")
PLURAL = {"dog": "dogs", "cat": "cats", "bird": "birds", "rabbit": "rabbits", "duck": "ducks"}

LEXICON: dict[str, tuple[str, ...]] = {
    "hero": tuple(name for pair in zip(GIRLS, BOYS, strict=True) for name in pair),
    "place": ("park", "beach", "farm", "forest", "market", "lake", "zoo", "garden"),
    "object": (
        *("ball", "kite", "book", "doll", "drum", "boat", "hat", "cup"),
        *("lamp", "train", "ring", "flute", "map", "shell"),
    ),
    "colour": ("red", "blue", "green", "yellow", "white", "black"),
    "animal": tuple(form for pair in PLURAL.items() for form in pair),
    "landmark": ("tree", "rocks", "fence", "benches", "bridge", "houses"),
    "sound": ("loud", "quiet", "noisy", "silent"),
    "visitor": ("Grandma", "Grandpa"),
    "weather": ("sun", "rain", "wind"),
}
"""The words that a story may pick, by kind; earlier words are likelier (Zipf's law: 1 / rank)."""

STORY: dict[str, tuple[tuple[float, str, str], ...]] = {
    "opening": (
        (0.4, "One day , [hero]", "arrival"),
        (0.3, "This morning , [hero]", "arrival"),
        (0.3, "[hero]", "arrival"),
    ),
    "arrival": (
        (0.5, "went to the [place] .", "mood"),
        (0.3, "walked to the [place] with a friend .", "mood"),
        (0.2, "ran to the [place] .", "mood"),
    ),
    "mood": (
        (0.5, "{She} was [feeling] .", "possession"),
        (0.3, "{She} felt very [feeling] .", "possession"),
        (0.2, "What made {her_object} so [feeling] ?", "possession"),
    ),
    "possession": (
        (0.6, "{She} had a [colour] [object] .", "middle"),
        (0.4, "In {her} bag was a [colour] [object] .", "middle"),
    ),
    "distraction": (
        (0.4, "The [animal] near the [landmark] {was} [sound] .", "middle"),
        (0.2, "The [animal] behind the [landmark] {was} very [sound] .", "middle"),
        (0.2, "[visitor] came by and said hello .", "middle"),
        (0.2, "There was some [weather] .", "middle"),
    ),
    "return": (
        (0.4, "Then {hero} took the {colour} {object} home from the {place} .", "ending"),
        (0.3, "At noon {hero} left the {place} with the {colour} {object} .", "ending"),
        (0.3, "Soon {hero} put the {object} in {her} bag and left the {place} .", "ending"),
    ),
    "ending": (
        (0.5, "At home , {she} was [feeling_again] .", "end"),
        (0.5, "In the evening {hero} felt [feeling_again] .", "end"),
    ),
}
"""From each state: probability, what is said, next state. `[kind]` picks a word, `{slot}` recalls.

The state "middle", which tells another distraction or goes on to "return", is the distance knob
and is added by the grammar."""

PRONOUNS = {
    # slot: (for a heroine, for a hero)
    "She": ("She", "He"),
    "she": ("she", "he"),
    "her": ("her", "his"),
    "her_object": ("her", "him"),
}


def recall(slot: str, memory: Mapping[str, str]) -> str:
    """Return the word that a recall slot must have, given what was picked before.

    Args:
        slot: what a template has in braces: a kind that was picked, a pronoun, or "was".
        memory: picked words by kind.
    """
    if slot in PRONOUNS:
        feminine, masculine = PRONOUNS[slot]
        return feminine if memory["hero"] in GIRLS else masculine
    if slot == "was":
        return "were" if memory["animal"] in PLURAL.values() else "was"
    return memory[slot]
