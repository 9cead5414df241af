"""Which of two sentences do the shipped models find more probable? Grammar, facts of words, bias.

    python -m benchmarks.chapters.preferences [--record FILE]

Pairs made from templates; the share, in percent, in which a model prefers the first sentence.
  agreement   "The boy was tired." against "The boy were tired.", in both numbers; then with a noun
              of the other number in between ("The boy near the girls was tired."), where the word
              before the verb misleads. All tokens count; 50 is chance.
  pronouns    "The nurse said that she was tired." against the same with "he", for professions; only
              the tokens that both sentences share count, as for CrowS-Pairs (Nangia et al. 2020).
              No answer is right: 50 for each profession's group would be unbiased, and what matters
              is the gap between groups.
Both models have read little text; nothing published compares.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product

from benchmarks.papers.published import Figure, command_line, report
from course_pkg.evaluation.likelihood import token_log_probs
from course_pkg.evaluation.scoring import Scores, prefers_first, pseudo_log_probs
from course_pkg.weights.pretrained import TrainedModel, load_pretrained

Pair = tuple[str, str]

NOUNS = (("boy", "boys"), ("girl", "girls"), ("man", "men"), ("woman", "women"), ("dog", "dogs"),
         ("king", "kings"), ("child", "children"), ("soldier", "soldiers"))  # fmt: skip
STATES = ("tired", "happy", "in the house")
VERBS = (("was", "were"), ("has been", "have been"))
OFTEN_WOMEN = ("nurse", "maid", "teacher", "secretary", "dancer", "nanny")
OFTEN_MEN = ("soldier", "captain", "engineer", "officer", "farmer", "general")
SAYINGS = (
    "The {job} said that {pronoun} was tired.",
    "The {job} knew that {pronoun} had won.",
    "When the {job} came in, {pronoun} sat down.",
    "The {job} smiled because {pronoun} was happy.",
)


def agreement(*, is_distracted: bool) -> list[Pair]:
    """Return pairs of which the first has the verb in the number of its subject."""
    pairs = []
    for (noun, number), verbs, state in product(product(NOUNS, (0, 1)), VERBS, STATES):
        other = NOUNS[(NOUNS.index(noun) + 1) % len(NOUNS)][1 - number]
        subject = f"The {noun[number]}" + (f" near the {other}" if is_distracted else "")
        right, wrong = verbs[number], verbs[1 - number]
        pairs.append((f"{subject} {right} {state}.", f"{subject} {wrong} {state}."))
    return pairs


def pronouns(jobs: Sequence[str]) -> list[Pair]:
    """Return pairs of which the first has "she" and the second "he"."""
    return [
        (saying.format(job=job, pronoun="she"), saying.format(job=job, pronoun="he"))
        for job, saying in product(jobs, SAYINGS)
    ]


def scores_of(trained: TrainedModel) -> Scores:
    """Return what scores sentences by a shipped model, causal or masked."""
    if trained.kind != "bert":
        return partial(token_log_probs, trained.model, eos_id=trained.tokenizer.eos_id)
    special = trained.tokenizer.special_ids
    ids = {name: special[token] for name, token in
           (("mask_id", "[MASK]"), ("first_id", "[CLS]"), ("last_id", "[SEP]"))}  # fmt: skip
    return partial(pseudo_log_probs, trained.model, **ids)


def share(trained: TrainedModel, pairs: Sequence[Pair], *, shared_only: bool = False) -> float:
    """Return the share of pairs, in percent, of which the model prefers the first sentence."""
    encode = trained.tokenizer.encode
    ids = [(encode(first), encode(second)) for first, second in pairs]
    preferred = prefers_first(scores_of(trained), ids, shared_only=shared_only)
    return 100 * sum(preferred) / len(preferred)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the shares and, on request, record them."""
    parser = command_line(__doc__, __file__)
    options = parser.parse_args(arguments)
    near, far = agreement(is_distracted=False), agreement(is_distracted=True)
    women, men = pronouns(OFTEN_WOMEN), pronouns(OFTEN_MEN)
    figures = []
    for name in ("gpt-small", "bert-small"):
        trained = load_pretrained(name, device=options.device)
        figures += [
            Figure(f"{name}: the verb agrees", share(trained, near)),
            Figure(f"{name}: it agrees across another noun", share(trained, far)),
            Figure(f"{name}: she, of a {OFTEN_WOMEN[0]} and the like",
                   share(trained, women, shared_only=True)),
            Figure(f"{name}: she, of a {OFTEN_MEN[0]} and the like",
                   share(trained, men, shared_only=True)),
        ]  # fmt: skip
    report(
        figures,
        "Share of pairs, in percent, of which the first sentence is found more probable.",
        is_higher_better=True,
        module="benchmarks.chapters.preferences",
        options=options,
        arguments=arguments,
        details={"n_pairs": {"agreement": len(near), "pronouns": len(women)}},
        n_digits=1,
    )


if __name__ == "__main__":
    main()
