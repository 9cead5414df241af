"""What a model makes of a text as it stands, with nothing trained for the question.

A masked model gives no probability to a text, yet it has an opinion of each token given all others:
their sum is the pseudo-log-likelihood. A causal model chooses among answers by how probable each
makes its words. And of two sentences that differ in one respect, either shows which it prefers.
Chapters: BERT, what pretraining teaches, assistants. Salazar et al. 2020; Brown et al. 2020;
Nangia et al. 2020.
"""

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

import torch
from jaxtyping import Float
from torch import Tensor

from course_pkg.common.checks import check_id, documents_of_ids, whole_numbers
from course_pkg.evaluation.likelihood import perplexity, token_log_probs
from course_pkg.models import LanguageModel
from course_pkg.models.bert import BERT
from course_pkg.models.inference import inference

Scores = Callable[[Sequence[Sequence[int]]], list[Tensor]]
"""From texts to the log-probabilities of their tokens: `token_log_probs` or `pseudo_log_probs` with
everything but the documents given."""


def pseudo_log_probs(
    model: BERT,
    documents: Sequence[Sequence[int]],
    *,
    mask_id: int,
    first_id: int,
    last_id: int,
    batch_size: int = 64,
) -> list[Float[Tensor, " T"]]:
    """Return each token's log-probability given all others: it alone is masked, and predicted.

    Salazar et al. 2020, eq. 2. A document of T tokens is read T times, so the cost is quadratic.

    Args:
        model: a BERT with heads; it is asked in evaluation mode and left in the mode it had.
        documents: token ids, at least one each, without anything around them.
        mask_id: the id of [MASK].
        first_id: what stands before a text in training, [CLS]; it is read, not scored.
        last_id: what stands after it, [SEP]; likewise.
        batch_size: masked copies read at once; changes no result beyond rounding.

    Returns:
        for each document its tokens' log-probabilities: nats, float64, on the CPU.

    Raises:
        ValueError: an empty document, or one longer than the context.
    """
    documents_of_ids(documents)
    whole_numbers(batch_size=batch_size)
    if not isinstance(model, BERT):
        raise ValueError(
            f"model is {type(model).__name__}; it must be a BERT: for a model that predicts the "
            "next token there is evaluate()"
        )
    for name, token in (("mask_id", mask_id), ("first_id", first_id), ("last_id", last_id)):
        check_id(name, token, model.vocab_size)
    longest = model.context_length - 2
    for number, document in enumerate(documents):
        if not 1 <= len(document) <= longest:
            raise ValueError(
                f"document {number} has {len(document)} tokens; it must have 1 to {longest}: a "
                f"context of {model.context_length} without the tokens at its two ends"
            )
    scores = []
    with inference(model) as device:
        for document in documents:
            ids = torch.tensor([first_id, *document, last_id]).to(device)
            places = torch.arange(1, len(ids) - 1, device=device)
            copies = ids.repeat(len(places), 1)  # (T, T + 2): in row t, token t is masked
            copies[places - 1, places] = mask_id
            vectors = torch.cat(
                [
                    model.encode(some)[torch.arange(len(some), device=device), at]
                    for some, at in zip(
                        copies.split(int(batch_size)), places.split(int(batch_size)), strict=True
                    )
                ]
            )
            # Apple's GPU has no float64.
            log_probs = model.token_logits(vectors).cpu().double().log_softmax(dim=-1)
            scores.append(log_probs.gather(-1, ids[places].cpu().unsqueeze(-1)).squeeze(-1))
    return scores


def pseudo_perplexity(
    model: BERT,
    documents: Sequence[Sequence[int]],
    *,
    mask_id: int,
    first_id: int,
    last_id: int,
    batch_size: int = 64,
) -> float:
    """Return exp of minus the mean of `pseudo_log_probs`: Salazar et al. 2020, eq. 4.

    Each token is predicted from both sides, with far more to go by than a language model has: this
    number orders masked models, and must not be set beside a perplexity. The arguments are those of
    `pseudo_log_probs`.

    Raises:
        ValueError: no document, an empty one, or one longer than the context.
    """
    scores = pseudo_log_probs(
        model,
        documents,
        mask_id=mask_id,
        first_id=first_id,
        last_id=last_id,
        batch_size=batch_size,
    )
    return perplexity(torch.cat([torch.empty(0, dtype=torch.float64), *scores]))


def answer_log_probs(
    model: LanguageModel,
    prompt: Sequence[int],
    answers: Sequence[Sequence[int]],
    *,
    eos_id: int,
) -> Float[Tensor, " A"]:
    """Return the log-probability of each answer after the prompt, summed over its tokens (nats).

    To classify without training, say the labels as words and take the best: zero-shot; with solved
    examples before the question in the prompt: few-shot (Brown et al. 2020, section 2). A sum
    favours short answers. Divide by the number of tokens, or subtract what the answer has after a
    prompt without the question (their appendix C), where answers differ in length or frequency.

    Args:
        model: any that keeps the contract of `course_pkg.models`.
        prompt: token ids, which eos precedes; may be empty. Where the context is too short, its
            beginning is left out.
        answers: token ids, at least one each, that go on from the prompt.
        eos_id: stands before the prompt.

    Raises:
        ValueError: no answer, an answer without a token, or one that alone fills the context.
    """
    if len(answers) == 0:
        raise ValueError("answers is empty; there is nothing to choose from")
    documents_of_ids([prompt], "prompt")
    check_id("eos_id", eos_id, model.vocab_size)
    documents_of_ids(answers, "answer")
    for number, answer in enumerate(answers):
        limit = model.context_length
        if not 1 <= len(answer) <= (limit or len(answer)):
            raise ValueError(
                f"answer {number} has {len(answer)} tokens; it must have 1 to {limit or 'any'}"
            )
    scores = []
    for answer in answers:  # one window each, so that none begins inside the answer
        text = [*prompt, *answer]
        if model.context_length is not None:  # eos takes the place of the last token, not read
            text = text[-model.context_length :]
        (row,) = token_log_probs(model, [text], eos_id=eos_id)
        scores.append(row[len(text) - len(answer) : len(text)].sum())
    return torch.stack(scores)


def prefers_first(
    score: Scores,
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
    *,
    shared_only: bool = False,
) -> list[bool]:
    """Say of each pair of sentences whether the model finds the first one more probable.

    With pairs of which only the first is grammatical this measures syntax (Warstadt et al. 2020);
    with pairs that differ in whom they are about, bias: an unbiased model prefers either as often.

    Args:
        score: log-probabilities of documents: `token_log_probs` or `pseudo_log_probs`, with the
            model and its special ids filled in by `functools.partial`.
        pairs: two sentences each, as ids.
        shared_only: add up only the tokens that both sentences have, each given the rest, so that a
            word does not count for being frequent (Nangia et al. 2020, section 3).

    Raises:
        ValueError: no pairs, or a pair of equal sentences.
    """
    if len(pairs) == 0:
        raise ValueError("pairs is empty; there is nothing to compare")
    scores = score([sentence for pair in pairs for sentence in pair])
    prefers = []
    for number, (first, second) in enumerate(pairs):
        if list(first) == list(second):
            raise ValueError(f"pair {number} has the same sentence twice; the two must differ")
        sides = scores[2 * number : 2 * number + 2]
        if shared_only:
            blocks = SequenceMatcher(
                None, list(first), list(second), autojunk=False
            ).get_matching_blocks()
            places = [
                [start + i for start, n in side for i in range(n)]
                for side in ([(b.a, b.size) for b in blocks], [(b.b, b.size) for b in blocks])
            ]
            sides = [row[at] for row, at in zip(sides, places, strict=True)]
        prefers.append(bool(sides[0].sum() > sides[1].sum()))
    return prefers
