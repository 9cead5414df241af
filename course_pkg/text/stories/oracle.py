"""The perfect model of the stories: what no model can be better than, as one of the models.

Chapter: what is a language model.
"""

import math
from collections.abc import Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_pkg.text.stories.grammar import StoryFilter, StoryGrammar
from course_pkg.text.tokenizers.vocabulary import EOS, Tokenizer


class StoryOracle:
    """The perfect language model of the stories, behind the contract that every model keeps.

    Its logits are exact natural-log probabilities. Rows of ids start at `<eos>`. After a history
    that no story has (padding, another model's sample) it can only guess: all tokens alike.

    Args:
        grammar: the source.
        tokenizer: a word tokenizer that knows every word of the stories.

    Raises:
        ValueError: a word of the stories that the tokenizer does not know.
    """

    context_length = None

    def __init__(self, grammar: StoryGrammar, tokenizer: Tokenizer) -> None:
        self.vocab_size = tokenizer.vocab_size
        self._grammar = grammar
        self._tokens = tokenizer.tokens
        self._id_of = {token: i for i, token in enumerate(tokenizer.tokens)}
        for word in grammar.vocabulary():
            if word not in self._id_of:
                raise ValueError(f"tokenizer does not know {word!r}, a word of the stories")

    def __call__(
        self, ids: Int[Tensor, "B T"], targets: Int[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Return exact log-probabilities of every next token, and the mean loss of the targets."""
        log_probs = torch.stack([self._row(row) for row in ids.tolist()]).to(ids.device)
        if targets is None:
            return log_probs, None
        loss = torch.nn.functional.nll_loss(log_probs.flatten(0, 1), targets.flatten())
        return log_probs, loss

    def next_log_probs(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return natural-log probabilities of the token after the last of `ids`."""
        return self(ids)[0][:, -1]

    def _row(self, row: Iterable[int]) -> Float[Tensor, "T V"]:
        guess = torch.full((self.vocab_size,), -math.log(self.vocab_size), dtype=torch.float64)
        reader: StoryFilter | None = self._grammar.start()
        rows = []
        for position, i in enumerate(row):
            word = self._tokens[i]
            if word == EOS:
                reader = self._grammar.start()
            elif reader is not None and position > 0 and word in reader.next_probs():
                reader = reader.read(word)
            else:
                reader = None
            rows.append(guess if reader is None else self._distribution(reader))
        return torch.stack(rows)

    def _distribution(self, reader: StoryFilter) -> Float[Tensor, " V"]:
        log_probs = torch.full((self.vocab_size,), -torch.inf, dtype=torch.float64)
        for word, p in reader.next_probs().items():
            log_probs[self._id_of[word]] = math.log(p)
        return log_probs
