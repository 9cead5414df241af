"""Text written from a text, and how it is scored: descriptions, summaries, replies.

    COURSE_DATA=DIR python -m benchmarks.chapters.written_text [--n-epochs 12] [--record FILE]

descriptions  A GRU with attention learns from E2E's development set to say facts about a restaurant
    in a sentence (Novikova et al. 2017). Names are replaced by one token on both sides, which is
    the usual preparation. One trained model writes by four rules of decoding; each is scored by
    BLEU and ROUGE-L against all references of a test input, and by how many different words its
    630 sentences have.
summaries     What needs no model at all, on DialogSum's test set (Chen et al. 2021): its first
    turns, its longest turn, and for comparison the first annotator against the two others. ROUGE-1
    of the best reference. Published scores of this set follow other conventions of ROUGE.
replies       What gpt-small makes of the next turn of a dialogue with no, one and all earlier turns
    in sight: perplexity per token of the reply, on the first 400 test replies.
DIR must have e2e_nlg/ and dialogsum/.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.chapters.sequence_pairs import Pair, train_pairs, write
from benchmarks.papers.published import Figure, command_line, or_exit, report
from course_pkg.evaluation.metrics import bleu, rouge
from course_pkg.layers.attention import BilinearScore
from course_pkg.layers.recurrent import GRUCell
from course_pkg.models import IGNORE
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.text.corpora import load_task
from course_pkg.text.corpora.written_data import Written
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.objectives import target_log_prob
from course_pkg.weights.pretrained import load_pretrained

D_EMBEDDING, D_HIDDEN, BATCH_SIZE, LR, MAX_LENGTH = 64, 128, 32, 4e-3, 60
N_REPLIES = 400
RULES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "5 beams, alpha 0.6": {"n_beams": 5, "alpha": 0.6},
    "drawn, top-p 0.9": {"temperature": 1.0, "top_p": 0.9},
    "drawn from the whole distribution": {"temperature": 1.0},
}
SLOTS = {"name": "xname", "near": "xnear"}
"""Slots whose values are names, and the word that stands for each."""


def without_names(record: Written) -> Written:
    """Replace names by their slots' words, in the facts and in what was written."""
    source, references = record.source, record.references
    for slot, word in SLOTS.items():
        found = re.search(rf"{slot}\[([^]]+)]", source)
        if found:
            source = source.replace(found[0], f"{slot}[{word}]")
            references = tuple(text.replace(found[1], word) for text in references)
    return Written(source, references)


def learn_to_describe(
    train: Sequence[Written], valid: Sequence[Written], n_epochs: int, device: str
) -> tuple[Seq2Seq, WordTokenizer, list[float]]:
    """Train on every reference; return the model, the words of both sides, and the losses."""
    texts = [text for record in train for text in (record.source, *record.references)]
    words = WordTokenizer.train(texts, min_count=2, lowercase=True)

    def pairs(records: Sequence[Written]) -> list[Pair]:
        return [
            (words.encode(record.source), words.encode(text))
            for record in records
            for text in record.references
        ]

    model = Seq2Seq(
        words.vocab_size,
        words.vocab_size,
        D_EMBEDDING,
        D_HIDDEN,
        eos_id=words.eos_id,
        score=BilinearScore(D_HIDDEN, D_HIDDEN),
        cell=GRUCell,
        dropout=0.2,
        generator=torch.Generator().manual_seed(0),
    )
    losses = train_pairs(
        model,
        pairs(train),
        pairs(valid),
        eos_id=words.eos_id,
        n_epochs=n_epochs,
        batch_size=BATCH_SIZE,
        lr=LR,
        device=device,
    )
    return model, words, losses


def descriptions(
    train: Sequence[Written],
    valid: Sequence[Written],
    test: Sequence[Written],
    n_epochs: int,
    device: str,
) -> tuple[list[Figure], dict[str, Any]]:
    """Return BLEU of each rule of decoding, and what else there is to say of its sentences."""
    train, valid, test = (list(map(without_names, part)) for part in (train, valid, test))
    model, words, losses = learn_to_describe(train, valid, n_epochs, device)
    references = [[text.lower() for text in record.references] for record in test]
    figures, details = [], {}
    for rule, settings in RULES.items():
        written = write(
            model,
            [words.encode(record.source) for record in test],
            eos_id=words.eos_id,
            max_length=MAX_LENGTH,
            generator=torch.Generator(device).manual_seed(1),
            **settings,
        )
        texts = [words.decode(ids) for ids in written]
        figures.append(Figure(f"facts as a sentence, {rule}: BLEU", bleu(texts, references)))
        details[rule] = {
            "rouge_l": rouge(texts, references)["rougeL"],
            "n_different_words": len({i for ids in written for i in ids}),
            "example": texts[0],
        }
    return figures, {"descriptions": details, "valid_nats_per_token": losses}


def summaries(dialogues: Sequence[Written]) -> list[Figure]:
    """Return ROUGE-1 of summaries that are parts of the dialogue, and of an annotator."""
    turns = [dialogue.source.split("\n") for dialogue in dialogues]
    references = [dialogue.references for dialogue in dialogues]
    rules = {
        "the first turn": [" ".join(rows[:1]) for rows in turns],
        "the first three turns": [" ".join(rows[:3]) for rows in turns],
        "the longest turn": [max(rows, key=len) for rows in turns],
    }
    figures = [
        Figure(f"a dialogue's summary, {name}: ROUGE-1", rouge(texts, references)["rouge1"])
        for name, texts in rules.items()
    ]
    first, others = [refs[0] for refs in references], [refs[1:] for refs in references]
    if all(others):
        of_a_person = rouge(first, others)["rouge1"]
        figures.append(Figure("a dialogue's summary, another annotator's: ROUGE-1", of_a_person))
    return figures


@torch.no_grad()
def replies(records: Sequence[Written]) -> list[Figure]:
    """Return the perplexity of replies by how much of the dialogue a GPT has read."""
    gpt = load_pretrained("gpt-small")
    model, tokenizer = gpt.model.eval(), gpt.tokenizer
    figures = []
    for name, n_turns in (("nothing", 0), ("the turn before", 1), ("all turns before", None)):
        nats, n_tokens = 0.0, 0
        for record in records:
            turns = record.source.split("\n")
            seen = turns if n_turns is None else turns[len(turns) - n_turns :]
            reply = tokenizer.encode(record.references[0] + "\n")[: model.context_length // 2]
            prompt = tokenizer.encode("".join(turn + "\n" for turn in seen))
            room = model.context_length - len(reply)
            ids = [tokenizer.eos_id, *prompt][-room:] + reply
            targets = torch.full((1, len(ids) - 1), IGNORE)
            targets[0, -len(reply) :] = torch.tensor(reply)
            logits = model(torch.tensor([ids[:-1]]))[0]
            nats -= float(target_log_prob(logits, targets))
            n_tokens += len(reply)
        figures.append(
            Figure(f"a reply, having read {name}: perplexity", math.exp(nats / n_tokens))
        )
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures and, on request, record them."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--n-epochs", type=int, default=12, help="passes over E2E's pairs [12]")
    options = parser.parse_args(arguments)
    with or_exit():
        facts, dialogues, turns = map(
            load_task, ("e2e_small", "dialogsum_small", "dialogsum_replies")
        )
    figures, details = descriptions(
        facts.train, facts.valid, facts.test, options.n_epochs, options.device
    )
    figures += summaries(dialogues.test) + replies(turns.test[:N_REPLIES])
    report(
        figures,
        "Text written from a text, or read after one: BLEU, ROUGE-1 (best reference, F1, from 0 to "
        "100) and perplexity, as each line says.",
        is_higher_better=True,
        module="benchmarks.chapters.written_text",
        options=options,
        arguments=arguments,
        details={**details, "n_epochs": options.n_epochs},
    )


if __name__ == "__main__":
    main()
