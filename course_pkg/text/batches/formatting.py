"""Tasks as token sequences: what a pretrained model reads when it is fine-tuned.

A GPT was pretrained on plain text, so a task with parts is written as one sequence with three new
tokens: [START], [DELIM] between the parts, and [EXTRACT] last, whose vector the head reads.
Chapter: fine-tuning. Radford et al. 2018, figure 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from course_pkg.common.checks import documents_of_ids, whole_numbers


@dataclass(frozen=True)
class TaskFormat:
    """Ids of the tokens that frame a task, and the longest sequence that may come out.

    Texts that are too long lose tokens at their ends, the longest text first.

    Raises:
        ValueError: if two ids are equal, or max_length leaves no room for a token of each of two
            texts.

    Example:
        >>> TaskFormat(start=90, delim=91, extract=92, max_length=16).pair([1, 2], [3])
        [90, 1, 2, 91, 3, 92]
    """

    start: int
    delim: int
    extract: int
    max_length: int

    def __post_init__(self) -> None:
        ids = (self.start, self.delim, self.extract)
        whole_numbers(at_least=0, start=self.start, delim=self.delim, extract=self.extract)
        if len(set(ids)) < 3:
            raise ValueError(f"start, delim and extract are {ids}; they must differ")
        whole_numbers(at_least=5, max_length=self.max_length)

    def single(self, text: Sequence[int]) -> list[int]:
        """Frame one text, to be classified."""
        (text,) = shorten([text], self.max_length - 2)
        return [self.start, *text, self.extract]

    def pair(self, first: Sequence[int], second: Sequence[int]) -> list[int]:
        """Frame two texts whose order matters, such as premise and hypothesis."""
        first, second = shorten([first, second], self.max_length - 3)
        return [self.start, *first, self.delim, *second, self.extract]

    def choices(self, question: Sequence[int], answers: Sequence[Sequence[int]]) -> list[list[int]]:
        """Frame a question with each of its possible answers."""
        return [self.pair(question, answer) for answer in answers]


def shorten(texts: Sequence[Sequence[int]], n_tokens: int) -> list[list[int]]:
    """Cut tokens off the ends of the longest texts until all fit into `n_tokens` together.

    Of several equally long texts the last loses a token first.

    Example:
        >>> shorten([[1, 2, 3, 4, 5], [6, 7]], 5)
        [[1, 2, 3], [6, 7]]
    """
    documents_of_ids(texts, "text")
    whole_numbers(at_least=0, n_tokens=n_tokens)
    lengths = [len(text) for text in texts]
    while sum(lengths) > n_tokens:
        longest = max(range(len(texts)), key=lambda place: (lengths[place], place))
        lengths[longest] -= 1
    return [list(text[:length]) for text, length in zip(texts, lengths, strict=True)]
