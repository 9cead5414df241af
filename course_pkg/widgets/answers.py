"""The shipped GPT choosing among the reader's own answers, by how probable it makes their words.

Chapter: assistants.
"""

from collections.abc import Sequence

from course_pkg.evaluation.scoring import answer_log_probs
from course_pkg.models.gpt import GPT
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.widgets.shipped import megabytes
from course_pkg.widgets.widget import Widget

MOST_ANSWERS = 8


def answer_chooser(name: str, *, prompt: str, answers: Sequence[str], alt: str) -> Widget:
    """Let the reader write a question and answers, and see which a GPT finds the likeliest.

    The model runs in the page. Until the reader asks for it, the figure shows the scores of
    `answers`, computed here: log-probability after the prompt, the same per token, and how much
    more it is than without the prompt.

    Args:
        name: a GPT that ships, such as "gpt-small".
        prompt: what stands before the answer; a space is put between them.
        answers: 2 to `MOST_ANSWERS` different ones.

    Raises:
        ValueError: a model that is no GPT, an empty prompt, too few or too many answers, an answer
            that is empty or occurs twice, or a text longer than the context.
    """
    trained = load_pretrained(name)
    model, tokenizer = trained.model, trained.tokenizer
    if not isinstance(model, GPT):
        raise ValueError(f"name is {name!r}, a {trained.kind}; a gpt goes on from a prompt")
    if not prompt.strip():
        raise ValueError(f"prompt is {prompt!r}; it must have a word")
    if not 2 <= len(answers) <= MOST_ANSWERS:
        raise ValueError(f"answers has {len(answers)}; it must have 2 to {MOST_ANSWERS}")
    if len({answer.strip() for answer in answers} - {""}) < len(answers):
        raise ValueError(f"answers is {list(answers)}; each must have a word and stand there once")
    asked = tokenizer.encode(prompt)
    ids = [tokenizer.encode(f" {answer}") for answer in answers]
    n_tokens = len(asked) + max(map(len, ids))
    if n_tokens > model.context_length:
        raise ValueError(
            f"the prompt with an answer has {n_tokens} tokens; the context is "
            f"{model.context_length}"
        )
    nats, priors = (
        answer_log_probs(model, before, ids, eos_id=tokenizer.eos_id).tolist()  # type: ignore[arg-type]
        for before in (asked, [])
    )
    scores = [
        {"answer": answer, "n_tokens": len(row), "nats": round(n, 4), "prior": round(p, 4)}
        for answer, row, n, p in zip(answers, ids, nats, priors, strict=True)
    ]
    return Widget(
        "lm-answers",
        {
            "model": name,
            "megabytes": {name: megabytes(trained)},
            "prompt": prompt,
            "scores": scores,
            "most_answers": MOST_ANSWERS,
        },
        alt,
        ("answer", "nats", "nats per token", "nats more than without the prompt"),
        [
            (a, f"{n:.2f}", f"{n / len(row):.2f}", f"{n - p:+.2f}")
            for a, row, n, p in zip(answers, ids, nats, priors, strict=True)
        ],
        models=[name],
    )
