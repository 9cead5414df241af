"""What vectors are worth in a window: tables of votes beside them, with and without a hidden layer.

    python -m benchmarks.chapters.votes [--record FILE]

Three models of one window are tuned and trained alike. `votes` has a table for each place and no
vector for any word: what a word at a place says of the next one is a row of its own. `vectors` adds
votes too, but of embeddings that all places share. `network` is the chapter's, with a hidden layer.
They are asked three things:

  pairs    the probability of the right verb after an animal and a landmark that never met
  amounts  nats per token of new stories after 30, 100, 300 ... stories; a 5-gram is beside them
  rare     whether the verb is right after an animal that was read n times, always four words before
           its verb: there, and five words before it. Only verbs are predicted, so nothing else that
           follows can tell a model what the animal is at the other place

Each arm has its own rate, searched until the best has a worse one on either side: by validation
text, of which the best of five looks counts, or, for `rare`, by an animal of its own, which is not
reported. Then three seeds.
"""

import copy
import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from benchmarks.chapters.transformer import best_rate
from benchmarks.records import Recording, command_line
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.models.loss import IGNORE, nats_per_target
from course_pkg.models.ngram import NGram
from course_pkg.models.window import FixedWindowLM
from course_pkg.text.batches import example_batches, next_token_rows
from course_pkg.text.corpora import load_corpus
from course_pkg.text.stories.lexicon import LEXICON, PLURAL, recall
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig

SEEDS = (0, 1, 2)
AMOUNTS = (30, 100, 300, 1000, 3000)
TIMES = (1, 3, 10)
"""How often a rare animal is read."""
N_PHRASES = 1000
D_EMBEDDING, D_HIDDEN = 32, 128

Documents = Sequence[Sequence[int]]
Make = Callable[[int, int, int, int], nn.Module]
"""From the vocabulary's size, the window, the id of <eos> and a seed."""


class Votes(nn.Module):
    """z = b + the sum over places of row w_k of that place's table: no embeddings."""

    context_length: int | None = None

    def __init__(self, vocab_size: int, window: int, eos_id: int) -> None:
        super().__init__()
        self.vocab_size, self.window, self.eos_id = vocab_size, window, eos_id
        self.tables = nn.ModuleList(nn.Embedding(vocab_size, vocab_size) for _ in range(window))
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        for table in self.tables:
            nn.init.zeros_(table.weight)

    def forward(self, ids: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Score every next token; the loss is in nats per target."""
        seen = nn.functional.pad(ids, (self.window - 1, 0), value=self.eos_id)
        votes = (
            table(seen[:, place : place + ids.shape[1]]) for place, table in enumerate(self.tables)
        )
        logits = self.bias + sum(votes)
        return logits, None if targets is None else nats_per_target(logits, targets)

    def next_log_probs(self, ids: Tensor) -> Tensor:
        """Return natural-log probabilities of the token after the last of `ids`."""
        logits: Tensor = self(ids[:, -self.window :])[0]
        return logits[:, -1].log_softmax(dim=-1)


def of_votes(vocab_size: int, window: int, eos_id: int, seed: int) -> nn.Module:
    """Return tables of votes; they begin with zeros, so the seed is that of the batches only."""
    return Votes(vocab_size, window, eos_id)


def of_vectors(vocab_size: int, window: int, eos_id: int, seed: int) -> nn.Module:
    """Return the direct connections of a window model, with nothing else that learns."""
    model = _window_model(vocab_size, window, eos_id, seed, d_hidden=1, has_direct=True)
    with torch.no_grad():
        model.output.weight.zero_()
    model.output.weight.requires_grad_(False)
    return model


def of_network(vocab_size: int, window: int, eos_id: int, seed: int) -> nn.Module:
    """Return the chapter's model."""
    return _window_model(vocab_size, window, eos_id, seed)


def _window_model(
    vocab_size: int,
    window: int,
    eos_id: int,
    seed: int,
    d_hidden: int = D_HIDDEN,
    has_direct: bool = False,
) -> FixedWindowLM:
    generator = torch.Generator().manual_seed(seed)
    model = FixedWindowLM(
        vocab_size,
        window,
        D_EMBEDDING,
        d_hidden,
        eos_id=eos_id,
        has_direct=has_direct,
        generator=generator,
    )
    with torch.no_grad():
        model.embedding.weight.mul_(0.1)  # what is large later, was learned
    return model


ARMS: dict[str, Make] = {"votes": of_votes, "vectors": of_vectors, "network": of_network}


def train(
    model: nn.Module,
    documents: Documents,
    valid: Documents | None = None,
    *,
    lr: float,
    seed: int,
    n_steps: int,
    eos_id: int,
    targets: Tensor | None = None,
) -> tuple[nn.Module, float]:
    """Train; return the model as it was at its best look at validation text, and its loss there.

    Args:
        valid: without it, the model is returned as it is in the end.
        targets: the only words that are predicted; all of them without it.
    """

    def rows_of(rows: Documents, generator: torch.Generator) -> dict[str, Tensor]:
        batch = next_token_rows(rows, eos_id)
        if targets is not None:
            batch["targets"][~torch.isin(batch["targets"], targets)] = IGNORE
        return batch

    batches = example_batches(
        documents,
        rows_of,
        16,
        seed=seed,
        lengths=[len(document) for document in documents],
    )
    best: dict[str, Any] = {"nats": float("inf")}

    def look(trained: nn.Module) -> dict[str, float | str]:
        assert valid is not None
        nats = evaluate(trained, valid, eos_id=eos_id).nats_per_token
        if nats < best["nats"]:
            best.update(nats=nats, weights=copy.deepcopy(trained.state_dict()))
        return {"nats": nats}

    config = TrainerConfig(
        n_steps,
        lr=lr,
        n_warmup=20,
        fused=True,
        spike_margin=1e6,  # a rate that is too high shows in the loss at the end
        log_every=n_steps // 5,
        evaluate_every=None if valid is None else n_steps // 5,
        checkpoint_every=n_steps,
    )
    Trainer(model, batches, config, evaluate=None if valid is None else look).train()
    if valid is not None:
        model.load_state_dict(best["weights"])
    return model.eval(), best["nats"]


class Asked:
    """The stories in ids, and what is asked of models trained on them."""

    def __init__(self) -> None:
        stories = load_corpus("stories")
        self.words = WordTokenizer.train(stories.train)
        self.texts = stories.train
        self.train, self.valid, self.test = (
            [self.words.encode(text) for text in split]
            for split in (stories.train, stories.valid[:100], stories.test[:300])
        )
        self.eos_id, self.vocab_size = self.words.eos_id, self.words.vocab_size
        pairs = [(a, b) for a in LEXICON["animal"] for b in LEXICON["landmark"]]
        self.pairs, self.hidden = pairs, set(random.Random(0).sample(pairs, 15))

    def tuned(
        self, name: str, documents: Documents, valid: Documents, window: int, n_steps: int
    ) -> tuple[float, list[nn.Module]]:
        """Return the rate that validation chose, and one model for each seed."""
        made: dict[float, nn.Module] = {}

        def fit(lr: float, seed: int) -> tuple[nn.Module, float]:
            model = ARMS[name](self.vocab_size, window, self.eos_id, seed)
            settings = {"lr": lr, "seed": seed, "n_steps": n_steps, "eos_id": self.eos_id}
            return train(model, documents, valid, **settings)

        def loss_at(lr: float) -> float:
            made[lr], loss = fit(lr, SEEDS[0])
            return loss

        lr, _ = best_rate(loss_at)
        return lr, [made[lr], *(fit(lr, seed)[0] for seed in SEEDS[1:])]

    def verb_probs(self, model: Any) -> dict[str, float]:
        """Return the mean probability of the right verb, for pairs that were kept and hidden."""
        found: dict[str, list[float]] = {"kept": [], "hidden": []}
        for animal, landmark in self.pairs:
            history = self.words.encode(f"The {animal} near the {landmark}")
            verb = self.words.encode(recall("was", {"animal": animal}))[0]
            log_prob = model.next_log_probs(torch.tensor([history]))[0, verb]
            kind = "hidden" if (animal, landmark) in self.hidden else "kept"
            found[kind].append(log_prob.exp().item())
        return {kind: sum(ps) / len(ps) for kind, ps in found.items()}

    def says_hidden(self, text: str) -> bool:
        """Whether a story says "[animal] near (or behind) the [landmark]" of a hidden pair."""
        said = self.words.words(text)
        return any(pair in self.hidden for pair in zip(said, said[3:], strict=False))


def measure_pairs(asked: Asked) -> dict[str, Any]:
    """Hide fifteen pairs; ask for the verb."""
    kept = [
        ids
        for text, ids in zip(asked.texts, asked.train, strict=True)
        if not asked.says_hidden(text)
    ]
    counted = NGram.fit(kept, 5, asked.vocab_size, asked.eos_id)
    rows: dict[str, Any] = {"5-gram": {"by_seed": [asked.verb_probs(counted)]}}
    for name in ("votes", "network"):
        lr, models = asked.tuned(name, kept, asked.valid, 4, 500)
        rows[name] = {"lr": lr, "by_seed": [asked.verb_probs(model) for model in models]}
        print("pairs", name, rows[name], flush=True)
    return rows


def measure_amounts(asked: Asked, amounts: Sequence[int] = AMOUNTS) -> dict[str, Any]:
    """Give each model the first stories only; return test nats per token, by seed."""
    networks = ("votes", "network")
    rows: dict[str, Any] = {name: [] for name in ("5-gram", *networks)}
    for n in amounts:
        some = asked.train[:n]
        counted = NGram.fit(some, 5, asked.vocab_size, asked.eos_id)
        fitted: dict[str, tuple[float | None, list[Any]]] = {"5-gram": (None, [counted])}
        fitted |= {name: asked.tuned(name, some, asked.valid, 4, 300) for name in networks}
        for name, (lr, models) in fitted.items():
            nats = [evaluate(m, asked.test, eos_id=asked.eos_id).nats_per_token for m in models]
            rows[name].append({"n": n, "lr": lr, "test_nats": nats})
            print("amounts", name, rows[name][-1], flush=True)
    return rows


def phrases(
    words: WordTokenizer,
    animals: Sequence[str],
    colours: Sequence[int],
    n: int,
    rng: random.Random,
) -> list[list[int]]:
    """Return phrases in ids: The [animal] near the [colours] [landmark] was (or were) [sound]."""
    made = []
    for _ in range(n):
        animal = rng.choice(animals)
        said = ["The", animal, "near", "the"]
        said += rng.choices(LEXICON["colour"], k=rng.choice(colours))
        said += [rng.choice(LEXICON["landmark"]), recall("was", {"animal": animal})]
        made.append(words.encode(" ".join([*said, rng.choice(LEXICON["sound"]), "."])))
    return made


def answers(words: WordTokenizer, model: Any, animals: Sequence[str], n_colours: int) -> Tensor:
    """Return, of all phrases with these animals, by how many nats the right verb is likelier."""
    was, were = words.encode("was were")
    rows, signs = [], []
    for animal, landmark in product(animals, LEXICON["landmark"]):
        for colour in LEXICON["colour"] if n_colours else ("",):
            text = f"The {animal} near the {colour} {landmark}"
            rows.append([words.eos_id, *words.encode(text)])
            signs.append(1 if animal in PLURAL.values() else -1)
    log_probs = model.next_log_probs(torch.tensor(rows))
    margins: Tensor = (log_probs[:, were] - log_probs[:, was]) * torch.tensor(signs)
    return margins


def share_right(margins: Tensor) -> float:
    """Return the share of right answers; a tie is half of one."""
    return float(((margins > 0).double() + (margins == 0).double() / 2).mean())


def measure_rare(asked: Asked, times: Sequence[int] = TIMES) -> dict[str, Any]:
    """Read one animal, in either number, n times in one place; ask in both."""
    tuned_on, *singulars = PLURAL
    verbs = torch.tensor(asked.words.encode("was were"))

    def fit(name: str, singular: str, n: int, lr: float, seed: int) -> list[Tensor]:
        rare, rng = [singular, PLURAL[singular]], random.Random(1000 * seed + n)
        known = [animal for animal in LEXICON["animal"] if animal not in rare]
        text = phrases(asked.words, known, (0, 1), N_PHRASES, rng)
        for animal in rare:
            text += phrases(asked.words, [animal], (0,), n, rng)
        model = ARMS[name](asked.vocab_size, 5, asked.eos_id, seed)
        settings = {"lr": lr, "seed": seed, "n_steps": 400, "eos_id": asked.eos_id}
        model, _ = train(model, text, targets=verbs, **settings)
        asked_of = ((rare, 0), (rare, 1), (known, 1))
        return [answers(asked.words, model, animals, n_colours) for animals, n_colours in asked_of]

    found: dict[str, Any] = {}
    for name, n in product(ARMS, times):

        def loss_at(lr: float, name: str = name, n: int = n) -> float:
            margins = fit(name, tuned_on, n, lr, SEEDS[0])[:2]  # balanced: each place counts half
            return sum(-logsigmoid(margin).mean().item() for margin in margins)

        lr, _ = best_rate(loss_at)
        runs = [fit(name, singular, n, lr, seed) for singular in singulars for seed in SEEDS]
        shares = [list(map(share_right, of_one)) for of_one in zip(*runs, strict=True)]
        places = ("where_read", "elsewhere", "others_elsewhere")
        row = {"n": n, "lr": lr, **dict(zip(places, shares, strict=True))}
        found.setdefault(name, []).append(row)
        print("rare", name, n, lr, [round(sum(s) / len(s), 3) for s in shares], flush=True)
    return {"tuned_on": tuned_on, "asked": singulars, "arms": found}


PARTS = {"rare": measure_rare, "pairs": measure_pairs, "amounts": measure_amounts}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it part by part."""
    recording = Recording(command_line(__doc__, __file__, arms=PARTS), arguments)
    what = "votes without vectors, votes of vectors, and a network with a hidden layer"
    recording.begin({"what": what}, same={"seeds": SEEDS})
    asked = Asked()
    for part in recording.missing(PARTS, within=None):
        recording.keep(part, PARTS[part](asked))


if __name__ == "__main__":
    main()
