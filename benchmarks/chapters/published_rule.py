"""A rule, and a published model with thin layers: GRPO, DPO, and imitating what passes.

    python -m benchmarks.chapters.published_rule [--record FILE]

SmolLM2-135M-Instruct (`make published`) is asked, in its chat template, for one sentence about
somebody and something, in the end of which that person is happy or sad. A reply is good if it meets
three demands, those of chapter 16's rule put for a model that writes freely:
  is_sentence  it stops by itself within 40 tokens, with one full stop, at its end
  is_asked     it names both whom and what the request names
  ends_well    of the words for a feeling that the course's stories have, its last is a glad one
LoRA of rank 8 stands on all linear layers, matrices are in bfloat16. All arms see the same number
of drawn replies, 24 times 48, eight to a request, and make 24 updates, at rates set beforehand:
  groups      GRPO (Shao et al. 2024) as in `benchmarks.chapters.checked_reward`: good or not,
              compared within a request's eight replies, each batch used once, no penalty
  imitation   of those that pass, of replies that were all drawn before
  DPO         (Rafailov et al. 2023, beta 0.1) on pairs of these: one that passes, one that fails
Replies are drawn at temperature 0.7, which is part of the policy. Four replies to each of 40
requests, about none of which is learned from, are judged before and after. One seed, no search.
"""

import random
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.chapters.published_labels import LORA, in_bfloat16
from benchmarks.records import Recording, command_line
from course_pkg.decoding.generation import generate
from course_pkg.models import IGNORE
from course_pkg.models.adaptation import add_lora
from course_pkg.text.batches import pad_rows
from course_pkg.text.conversations import conversation_ids
from course_pkg.text.stories.lexicon import GLAD, LEXICON, SAD
from course_pkg.training.objectives import dpo_loss, reply_targets
from course_pkg.weights.published import PUBLISHED, load_published

FORM = "Write one sentence about {hero} and a {thing}. {hero} feels happy or sad in the end."
DEMANDS = ("is_sentence", "is_asked", "ends_well", "is_good")
N_UPDATES, N_REPLIES, N_REQUESTS = 24, 8, 6
N_TEST, N_DRAWS, LONGEST, TEMPERATURE, SEED = 40, 4, 40, 0.7, 0
RATES = {"groups": 5e-4, "imitation": 3e-4, "DPO": 1e-4}
BETA, AT_ONCE, N_SHOWN = 0.1, 16, 4

Ids = list[int]


@dataclass(frozen=True)
class Request:
    """Whom and what a sentence shall be about."""

    hero: str
    thing: str


@dataclass(frozen=True)
class Reply:
    """A reply in ids, the stop included if there is one, and whether it meets the rule."""

    request: Request
    prompt: Ids
    ids: Ids
    verdict: dict[str, bool]


def judged(request: Request, text: str, *, has_ended: bool) -> dict[str, bool]:
    """Apply the rule to a reply's text."""
    words = re.findall(r"\w+", text.lower())
    feelings = [word for word in words if word in GLAD or word in SAD]
    verdict = {
        "is_sentence": has_ended and re.fullmatch(r"[^.!?]+[.!?]", text.strip()) is not None,
        "is_asked": request.hero.lower() in words and request.thing in words,
        "ends_well": bool(feelings) and feelings[-1] in GLAD,
    }
    return verdict | {"is_good": all(verdict.values())}


class Policy:
    """SmolLM2 with thin layers."""

    def __init__(self) -> None:
        loaded: Any = load_published("smollm2-135m")
        self.model, self.tokenizer, self.template = (
            loaded.model,
            loaded.tokenizer,
            loaded.chat_template,
        )
        self.stop_id: int = self.tokenizer.special_ids["<|im_end|>"]
        generator = torch.Generator().manual_seed(SEED)
        self.thin = add_lora(self.model, 8, 16.0, targets=LORA, generator=generator)
        in_bfloat16(self.model)
        for parameter in self.thin:
            parameter.data = parameter.data.float()
        self.begun = [parameter.detach().clone() for parameter in self.thin]
        self.model.eval()

    def reset(self) -> None:
        """Take the thin layers back to where they began."""
        for parameter, value in zip(self.thin, self.begun, strict=True):
            parameter.data.copy_(value)

    @contextmanager
    def as_it_was(self) -> Iterator[None]:
        """Be the published model for a while."""
        now = [parameter.detach().clone() for parameter in self.thin]
        self.reset()
        yield
        for parameter, value in zip(self.thin, now, strict=True):
            parameter.data.copy_(value)

    def prompt(self, request: Request) -> Ids:
        """Lay a request out by the chat template."""
        content = FORM.format(hero=request.hero, thing=request.thing)
        return conversation_ids(
            self.template, self.tokenizer, [{"role": "user", "content": content}]
        )

    @torch.no_grad()
    def draw(self, requests: Sequence[Request], seed: int) -> list[Reply]:
        """Draw a reply to each request."""
        prompts = [self.prompt(request) for request in requests]
        ids, lengths = pad_rows(prompts, 0)
        with torch.autocast("cpu", torch.bfloat16):
            rows = generate(
                self.model,
                ids,
                LONGEST,
                temperature=TEMPERATURE,
                generator=torch.Generator().manual_seed(seed),
                stop_id=self.stop_id,
                lengths=lengths,
            ).tolist()
        found = []
        for request, prompt, row in zip(requests, prompts, rows, strict=True):
            written = row[len(prompt) :]
            has_ended = self.stop_id in written
            said = written[: written.index(self.stop_id)] if has_ended else written
            verdict = judged(request, self.tokenizer.decode(said), has_ended=has_ended)
            found.append(Reply(request, prompt, said + [self.stop_id] * has_ended, verdict))
        return found

    def log_probs(self, replies: Sequence[Reply]) -> Tensor:
        """Return the log-probability of each reply (nats), at the temperature of the draws."""
        ids, lengths = pad_rows([reply.prompt + reply.ids for reply in replies], 0)
        starts = torch.tensor([len(reply.prompt) for reply in replies])
        targets = reply_targets(ids, starts, lengths)
        is_asked = targets != IGNORE  # only these are compared with all 49,152 tokens
        with torch.autocast("cpu", torch.bfloat16):
            scores = self.model.unembed(self.model.encode(ids)[is_asked])
        each = (scores.float() / TEMPERATURE).log_softmax(dim=-1)
        chosen = each.gather(1, targets[is_asked].unsqueeze(1)).squeeze(1)
        rows = is_asked.nonzero()[:, 0]
        return torch.zeros(len(replies)).index_add(0, rows, chosen)

    def all_log_probs(self, replies: Sequence[Reply]) -> Tensor:
        """Return the same, some at a time, without gradients."""
        with torch.no_grad():
            parts = [
                self.log_probs(replies[n : n + AT_ONCE]) for n in range(0, len(replies), AT_ONCE)
            ]
        return torch.cat(parts)


def requests_in_order() -> list[Request]:
    """Return all requests, in an order that is drawn."""
    every = [Request(*pair) for pair in product(LEXICON["hero"], LEXICON["object"])]
    random.Random(SEED).shuffle(every)
    return every


def measured(policy: Policy, asked: Sequence[Request]) -> dict[str, Any]:
    """Judge replies to requests, and say what they cost."""
    replies = policy.draw([request for request in asked for _ in range(N_DRAWS)], 7)
    own = policy.all_log_probs(replies)
    with policy.as_it_was():
        theirs = policy.all_log_probs(replies)
    texts = [policy.tokenizer.decode([i for i in r.ids if i != policy.stop_id]) for r in replies]
    shares = {
        name: statistics.fmean(float(reply.verdict[name]) for reply in replies) for name in DEMANDS
    }
    return shares | {
        "kl_nats": float((own - theirs).mean()),
        "entropy_nats": float(-own.mean()),
        "n_tokens": statistics.fmean(len(reply.ids) for reply in replies),
        "first_words": len({" ".join(text.split()[:4]) for text in texts}),
        "shown": texts[: N_SHOWN * N_DRAWS : N_DRAWS],
    }


class Updates:
    """AdamW on the thin layers; the rate rises, then falls to 0."""

    def __init__(self, policy: Policy, lr: float) -> None:
        self.policy, self.lr, self.n_done = policy, lr, 0
        self.optimizer = torch.optim.AdamW(policy.thin, lr=lr, betas=(0.9, 0.95), weight_decay=0.0)

    def step(self, examples: Sequence[Any], loss_of: Callable[[Sequence[Any]], Tensor]) -> None:
        """Make an update; losses are sums, and examples are read some at a time."""
        rate = min(1, (self.n_done + 1) / (0.1 * N_UPDATES)) * (1 - self.n_done / N_UPDATES)
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr * rate
        self.optimizer.zero_grad()
        for start in range(0, len(examples), AT_ONCE):
            (loss_of(examples[start : start + AT_ONCE]) / len(examples)).backward()
        nn.utils.clip_grad_norm_(self.policy.thin, 1.0)
        self.optimizer.step()
        self.n_done += 1


def groups(policy: Policy, asked: Sequence[Request], _: Sequence[Reply]) -> dict[str, Any]:
    """Compare a request's replies with each other."""
    updates, good = Updates(policy, RATES["groups"]), []
    for step in range(N_UPDATES):
        replies = policy.draw(of_step(asked, step), 100 + step)
        passed = torch.tensor([float(reply.verdict["is_good"]) for reply in replies])
        rows = passed.view(-1, N_REPLIES)
        apart = rows - rows.mean(dim=1, keepdim=True)
        advantage = (apart / (rows.std(dim=1, keepdim=True) + 1e-6)).flatten().tolist()
        pairs = [pair for pair in zip(replies, advantage, strict=True) if pair[1]]

        def loss_of(some: Sequence[tuple[Reply, float]]) -> Tensor:
            worth = torch.tensor([value for _, value in some])
            return -(worth * policy.log_probs([reply for reply, _ in some])).sum()

        if pairs:
            updates.step(pairs, loss_of)
        good.append(float(passed.mean()))
        print(f"  update {step + 1}: {good[-1]:.2f} good", flush=True)
    return {"good_by_update": good}


def imitation(policy: Policy, asked: Sequence[Request], drawn: Sequence[Reply]) -> dict[str, Any]:
    """Imitate the replies that pass."""
    kept, rng = [reply for reply in drawn if reply.verdict["is_good"]], random.Random(SEED)
    updates = Updates(policy, RATES["imitation"])
    for _ in range(N_UPDATES):
        some = rng.sample(kept, min(AT_ONCE, len(kept)))
        updates.step(some, lambda replies: -policy.log_probs(replies).sum() / 20)
    return {"n_kept": len(kept)}


def dpo(policy: Policy, asked: Sequence[Request], drawn: Sequence[Reply]) -> dict[str, Any]:
    """Prefer a reply that passes to one to the same request that does not."""
    rng, pairs = random.Random(SEED), []
    for reply in drawn:
        failed = [r for r in drawn if r.request == reply.request and not r.verdict["is_good"]]
        if reply.verdict["is_good"] and failed:
            pairs.append((reply, rng.choice(failed)))
    frozen = [policy.all_log_probs([pair[side] for pair in pairs]) for side in (0, 1)]
    rows = [(*pair, *scores) for pair, *scores in zip(pairs, *frozen, strict=True)]

    def loss_of(some: Sequence[Any]) -> Tensor:
        better, worse, *before = zip(*some, strict=True)
        own = policy.log_probs([*better, *worse]).chunk(2)
        return dpo_loss(*own, *map(torch.stack, before), beta=BETA)[0] * len(some)

    updates = Updates(policy, RATES["DPO"])
    for _ in range(N_UPDATES):
        updates.step(rng.sample(rows, min(AT_ONCE // 2, len(rows))), loss_of)
    return {"n_pairs": len(pairs)}


def of_step(asked: Sequence[Request], step: int) -> list[Request]:
    """Return the requests of an update, each as often as it is replied to."""
    some = [asked[(step * N_REQUESTS + n) % len(asked)] for n in range(N_REQUESTS)]
    return [request for request in some for _ in range(N_REPLIES)]


ARMS: dict[str, Callable[[Policy, Sequence[Request], Sequence[Reply]], dict[str, Any]]] = {
    "imitation": imitation,
    "DPO": dpo,
    "groups": groups,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the arms that are not recorded yet."""
    recording = Recording(command_line(__doc__, __file__, arms=["before", *ARMS]), arguments)
    torch.set_num_threads(1)
    recording.begin(
        {
            "what": "share of replies that meet each demand of the rule",
            "n_judged": N_TEST * N_DRAWS,
        },
        same={
            "weights_sha256": PUBLISHED["smollm2-135m"].sha256,
            "rates": RATES,
            "n_updates": N_UPDATES,
            "n_drawn": N_UPDATES * N_REQUESTS * N_REPLIES,
        },
    )
    policy, every = Policy(), requests_in_order()
    test, asked = every[:N_TEST], every[N_TEST:]
    if recording.missing(["before"], within="ends"):
        recording.keep("before", measured(policy, test), within="ends")
    missing, drawn = recording.missing(ARMS, within="ends"), []
    if missing and missing != ["groups"]:
        for step in range(N_UPDATES):
            drawn += policy.draw(of_step(asked, step), 100 + step)
    for name in missing:
        policy.reset()
        about = ARMS[name](policy, asked, drawn)
        recording.keep(name, about | measured(policy, test), within="ends")


if __name__ == "__main__":
    main()
