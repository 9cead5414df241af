"""WikiText's tokenized lines turned back into prose.

WikiText sets spaces around punctuation and writes <unk> for rare words, as language-model
benchmarks ask for. A model that is to write text, or to read other text, should see neither.
Chapter: GPT. Merity et al. 2017.
"""

import re
from collections.abc import Iterable

_HEADING = re.compile(r"= [^=].* =")
_SENTENCE_END = re.compile(r"(?<= [.?!]) ")
_REPAIRS = (
    (re.compile(r" @([-.,])@ "), r"\1"),  # well @-@ known, 3 @.@ 5
    (re.compile(r'" ([^"]*) "'), r'"\1"'),
    (re.compile(r"(?<=s) '(?= )"), "'"),  # the players ' bench
    (re.compile(r" ([.,;:?!%)\]]|'(?:s|re|ve|ll|d|m)?\b|n't\b)"), r"\1"),
    (re.compile(r"([(\[$£]) "), r"\1"),
)


def prose_articles(lines: Iterable[str]) -> list[str]:
    r"""Return one text per article: title and paragraphs, one per line, without <unk>.

    Sentences with an unknown word are left out, and what is left empty by that; so are section
    headings.

    Args:
        lines: of a WikiText file, without white space at their ends.

    Example:
        >>> prose_articles(["= Ann =", "", "She was well @-@ known . She met <unk> ."])
        ['Ann\nShe was well-known.']
    """
    articles: list[list[str]] = []
    for line in lines:
        if _HEADING.fullmatch(line):
            articles.append([line.strip("= ")])
        elif line and not line.startswith("="):
            kept = [s for s in _SENTENCE_END.split(line) if "<unk>" not in s]
            if kept and articles:
                articles[-1].append(undo_tokenization(" ".join(kept)))
    return ["\n".join(paragraphs) for paragraphs in articles if len(paragraphs) > 1]


def undo_tokenization(text: str) -> str:
    r"""Take away the spaces that a tokenizer put around punctuation.

    Example:
        >>> undo_tokenization('" Yes , " he said ( 3 @.@ 5 times ) , " it \'s Ann \'s . "')
        '"Yes," he said (3.5 times), "it\'s Ann\'s."'
    """
    for pattern, repaired in _REPAIRS:
        text = pattern.sub(repaired, text)
    return text
