"""A tiny model that is asked for stories: taught to reply, then to please, then to please too much.

    python -m benchmarks.chapters.story_assistant [--record FILE]

Pretraining: a GPT of 2 layers reads stories, and lists of requests that nobody answers. A rule
(`course_pkg.text.stories.requests`) judges each reply: is it a story, is it what was asked for,
does it end well? Shares are of 200 requests, one reply drawn for each.

demonstrations  Fine-tuning on 25 to 400 requests with replies, with the loss on the reply or on
    all tokens (Ouyang et al. 2022).
reward          A reward model learns from pairs of the tuned model's own replies. Both replies of a
    pair are stories about what was asked; one ends well (Bradley & Terry 1952).
best_of         The best of n replies by that reward (Stiennon et al. 2020).
offline         Three ways to learn from the same pairs: imitate the better reply, or prefer it
    (DPO, Rafailov et al. 2023) with a small or a large beta.
online          The reward less beta times log(policy / reference) is raised by policy gradients
    (Williams 1992; Ziegler et al. 2019), with and without that penalty.

Every rate is tried on other requests with the first seed, by the share of replies that meet all
demands at the end. Three seeds, each with a pretraining of its own.
"""

import copy
import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.chapters.assistant import best_of
from benchmarks.records import Recording, command_line
from course_pkg.decoding.generation import generate
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.models.adaptation import TextClassifier
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.text.batches import example_batches, next_token_rows, pad_rows
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.stories.requests import Request, Requests, Verdict
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.objectives import (
    dpo_loss,
    preference_loss,
    reply_targets,
    target_log_prob,
)
from course_pkg.training.trainer import Trainer, TrainerConfig

SEEDS = (0, 1, 2)
N_REQUESTS, LONGEST, CONTEXT = 200, 60, 256
N_SHOTS = (0, 1, 2, 4)
N_DEMONSTRATIONS = (25, 100, 400)
N_OF_BEST = (1, 2, 4, 8, 16, 32)
N_HELD_OUT_PAIRS = 40
RATES = (3e-4, 1e-3, 3e-3, 1e-2)
N_UPDATES, EVERY, N_DRAWS = 60, 10, 48
DEMANDS = ("is_story", "is_asked", "ends_well", "is_good")

Ids = list[int]
Loss = Callable[[nn.Module, list[Any]], Tensor]


class World:
    """The texts, the requests and the rule, all in ids.

    Args:
        n_stories: to pretrain on, beside a fifth as many lists of requests.
        n_requests: to report on, and as many to tune on.
    """

    def __init__(self, n_stories: int = 4000, n_requests: int = N_REQUESTS) -> None:
        grammar = StoryGrammar(n_distractions=0)
        self.requests = Requests(grammar)
        stories = [" ".join(story.words) for story in grammar.sample(n_stories, seed=1)]
        texts = stories + self.requests.lists(n_stories // 5, seed=2)
        self.tokenizer = WordTokenizer.train(texts)
        self.eos_id = self.tokenizer.eos_id
        self.train = [self.tokenizer.encode(text) for text in texts]
        self.floor = grammar.floor_perplexity()
        self.test_stories = [
            self.tokenizer.encode(" ".join(story.words)) for story in grammar.sample(200, seed=3)
        ]
        self.test, self.valid = (
            [request for request, _ in self.requests.sample(n_requests, seed=seed)]
            for seed in (9, 10)
        )

    def prompt(self, request: Request) -> Ids:
        """Return a request as a model reads it: nine tokens after the start of a text."""
        return [self.eos_id, *self.tokenizer.encode(request.text)]

    def demonstrations(self, n: int, seed: int) -> list[tuple[Ids, Ids]]:
        """Return prompts with the replies of somebody who knows how."""
        return [
            (self.prompt(request), self.tokenizer.encode(" ".join(words)))
            for request, words in self.requests.sample(n, seed=100 + seed)
        ]

    def judge(self, request: Request, reply: Ids) -> Verdict:
        """Apply the rule to a reply in ids."""
        return self.requests.judge(request, [self.tokenizer.tokens[i] for i in reply])

    def shares(self, requests: Sequence[Request], replies: Sequence[Ids]) -> dict[str, float]:
        """Return the share of replies that meet each demand, and all of them."""
        verdicts = [self.judge(*pair) for pair in zip(requests, replies, strict=True)]
        return {
            name: statistics.mean(float(getattr(verdict, name)) for verdict in verdicts)
            for name in DEMANDS
        }

    def rows(self, prompts: Sequence[Ids], replies: Sequence[Ids]) -> tuple[Tensor, Tensor, Tensor]:
        """Return ids, targets of the replies and lengths of a batch."""
        rows = [[*p, *r, self.eos_id] for p, r in zip(prompts, replies, strict=True)]
        ids, lengths = pad_rows(rows, self.eos_id)
        starts = torch.tensor([len(prompt) for prompt in prompts])
        return ids, reply_targets(ids, starts, lengths), lengths

    def draw(self, model: GPT, prompts: Sequence[Ids], seed: int) -> list[Ids]:
        """Draw a reply to each of some prompts of equal length; its end is left out."""
        generator = torch.Generator().manual_seed(seed)
        ids = torch.tensor(prompts)
        rows = generate(model, ids, LONGEST, generator=generator, stop_id=self.eos_id)
        replies = rows[:, ids.shape[1] :].tolist()
        return [r[: r.index(self.eos_id)] if self.eos_id in r else r for r in replies]

    def log_probs(self, model: nn.Module, prompts: Sequence[Ids], replies: Sequence[Ids]) -> Tensor:
        """Return the log probability of each reply (nats)."""
        ids, targets, _ = self.rows(prompts, replies)
        return target_log_prob(model(ids)[0], targets)


class RewardModel(nn.Module):
    """A number for each text, read at its end; it starts from a language model."""

    def __init__(self, model: GPT) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.judge = TextClassifier(copy.deepcopy(model), n_classes=1, generator=generator)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return the rewards of padded rows."""
        return self.judge(ids, lengths=lengths)[0][:, 0]


def pretrain(world: World, seed: int, n_steps: int = 400) -> GPT:
    """Train the language model on stories and on lists of requests."""
    config = replace(gpt_tiny(world.tokenizer.vocab_size, CONTEXT), positions="rotary")
    model = GPT(config, generator=torch.Generator().manual_seed(seed))
    batches = example_batches(
        world.train,
        lambda rows, _: next_token_rows(rows, world.eos_id),
        32,
        seed=seed,
        lengths=[len(text) for text in world.train],
    )
    settings = TrainerConfig(
        n_steps=n_steps,
        lr=0.02,
        optimizer="muon",
        n_warmup=min(30, n_steps // 2),
        spike_factor=math.inf,  # a batch of requests is harder than one of stories, no spike
        log_every=n_steps,
        checkpoint_every=n_steps,
    )
    Trainer(model, batches, settings, show_progress=False).train()
    return model.eval()


def tuned(
    model: nn.Module,
    examples: list[Any],
    loss_of: Loss,
    lr: float,
    seed: int,
    n_steps: int = 60,
    batch_size: int = 16,
) -> Any:
    """Return the model after updates by AdamW; the rate rises, then falls to 0."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0.0)
    rng = random.Random(seed)
    for step in range(n_steps):
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1, (step + 1) / (0.1 * n_steps)) * (1 - step / n_steps)
        loss = loss_of(model, rng.sample(examples, min(batch_size, len(examples))))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def instructed(
    world: World, base: GPT, n: int, lr: float, seed: int, *, on: str = "reply", n_steps: int = 60
) -> GPT:
    """Teach a copy of the base by `n` demonstrations, with the loss on "reply" or on "all"."""

    def loss_of(model: nn.Module, examples: list[Any]) -> Tensor:
        if on == "all":
            examples = [(prompt[:1], prompt[1:] + reply) for prompt, reply in examples]
        ids, targets, _ = world.rows(*zip(*examples, strict=True))
        return model(ids, targets)[1]

    examples = world.demonstrations(n, seed)
    return tuned(copy.deepcopy(base), examples, loss_of, lr, seed, n_steps, batch_size=32)


def shots(world: World, model: GPT, n: int, seed: int) -> dict[str, float]:
    """Judge the replies to requests before which `n` stand with their replies."""
    solved = [i for prompt, reply in world.demonstrations(n, seed) for i in prompt + reply]
    prompts = [solved + world.prompt(request) for request in world.test]
    return world.shares(world.test, world.draw(model, prompts, seed))


def make_pairs(world: World, model: GPT, seed: int, n: int = 400) -> list[tuple[Ids, Ids, Ids]]:
    """Return prompts with a better and a worse reply of the model; both are what was asked for."""
    requests = [request for request, _ in world.requests.sample(n, seed=200 + seed)]
    prompts = [world.prompt(request) for request in requests]
    pairs = []
    for request, prompt, *replies in zip(
        requests,
        prompts,
        *(world.draw(model, prompts, 1000 * seed + turn) for turn in (1, 2)),
        strict=True,
    ):
        verdicts = [world.judge(request, reply) for reply in replies]
        are_stories = all(verdict.is_story and verdict.is_asked for verdict in verdicts)
        if are_stories and verdicts[0].ends_well != verdicts[1].ends_well:
            better, worse = replies if verdicts[0].ends_well else reversed(replies)
            pairs.append((prompt, better, worse))
    return pairs


class Lesson:
    """What policies learn from and are judged by: the reference, its pairs, their reward model."""

    def __init__(self, world: World, base: GPT, seed: int) -> None:
        self.world, self.seed = world, seed
        self.reference = instructed(world, base, 400, 3e-3, seed, n_steps=120)
        self.reference.requires_grad_(False)
        pairs = make_pairs(world, self.reference, seed)
        self.pairs, held_out = pairs[:-N_HELD_OUT_PAIRS], pairs[-N_HELD_OUT_PAIRS:]

        def loss_of(model: nn.Module, some: list[Any]) -> Tensor:
            return preference_loss(*self.of_pairs(model, some))[0]

        fresh = RewardModel(self.reference).requires_grad_(True)
        self.reward = tuned(fresh, self.pairs, loss_of, 3e-3, seed)
        with torch.no_grad():
            is_right = preference_loss(*self.of_pairs(self.reward, held_out))[1]
        self.held_out_right = float(is_right.float().mean())

    def of_pairs(self, reward: nn.Module, pairs: list[Any]) -> Sequence[Tensor]:
        """Return the rewards of the better replies and of the worse ones."""
        prompts, better, worse = zip(*pairs, strict=True)
        ids, _, lengths = self.world.rows(prompts + prompts, better + worse)
        return reward(ids, lengths).chunk(2)

    def rewards(self, prompts: Sequence[Ids], replies: Sequence[Ids]) -> Tensor:
        """Return the proxy: what the reward model thinks of replies."""
        ids, _, lengths = self.world.rows(prompts, replies)
        with torch.no_grad():
            return self.reward(ids, lengths)

    def policy(self) -> GPT:
        """Return a copy of the reference that may learn."""
        return copy.deepcopy(self.reference).requires_grad_(True)

    @torch.no_grad()
    def measure(self, policy: GPT, requests: Sequence[Request]) -> dict[str, float]:
        """Return what a policy's replies are worth, and what they cost."""
        world = self.world
        prompts = [world.prompt(request) for request in requests]
        replies = world.draw(policy, prompts, 7)
        own, theirs = (world.log_probs(m, prompts, replies) for m in (policy, self.reference))
        return world.shares(requests, replies) | {
            "proxy": float(self.rewards(prompts, replies).mean()),
            "kl_nats": float((own - theirs).mean()),
            "entropy_nats": float(-own.mean()),
            "story_perplexity": evaluate(
                policy, world.test_stories, eos_id=world.eos_id
            ).perplexity,
        }

    def offline(self, arm: str, lr: float) -> GPT:
        """Learn from the pairs: "imitation", or "DPO" and its beta."""
        world, reference = self.world, self.reference

        def loss_of(policy: nn.Module, pairs: list[Any]) -> Tensor:
            prompts, better, worse = zip(*pairs, strict=True)
            if arm == "imitation":
                ids, targets, _ = world.rows(prompts, better)
                return policy(ids, targets)[1]
            both = prompts + prompts, better + worse
            with torch.no_grad():
                frozen = world.log_probs(reference, *both).chunk(2)
            learned = world.log_probs(policy, *both).chunk(2)
            return dpo_loss(*learned, *frozen, beta=float(arm.split()[1]))[0]

        return tuned(self.policy(), self.pairs, loss_of, lr, self.seed)

    def online(
        self,
        beta: float,
        lr: float,
        requests: Sequence[Request],
        *,
        reward: Callable[[Sequence[Request], Sequence[Ids]], Tensor] | None = None,
        n_replies: int = 1,
    ) -> tuple[GPT, list[dict[str, float]]]:
        """Raise a reward by policy gradients; return the policy and its way there.

        Args:
            requests: to look at the policy with, every few updates.
            reward: of requests and replies; the reward model's if None.
            n_replies: drawn for each request. Several are compared with each other, as in GRPO
                (Shao et al. 2024); one, with the whole batch.
        """
        world, policy, rng = self.world, self.policy(), random.Random(self.seed)
        asked = [q for q, _ in world.requests.sample(1000, seed=300 + self.seed)]
        optimizer = torch.optim.AdamW(policy.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0)
        way = []
        for step in range(N_UPDATES + 1):
            if step % EVERY == 0:
                way.append({"step": step} | self.measure(policy, requests))
            some = [q for q in rng.sample(asked, N_DRAWS // n_replies) for _ in range(n_replies)]
            prompts = [world.prompt(request) for request in some]
            replies = world.draw(policy, prompts, 1000 * self.seed + step)
            own = world.log_probs(policy, prompts, replies)
            with torch.no_grad():
                gap = own - world.log_probs(self.reference, prompts, replies)
                given = reward(some, replies) if reward else self.rewards(prompts, replies)
                value = (given - beta * gap).view(-1, n_replies if n_replies > 1 else N_DRAWS)
                apart = value - value.mean(dim=1, keepdim=True)
                advantage = (apart / (value.std(dim=1, keepdim=True) + 1e-6)).flatten()
            loss = -(advantage * own).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        return policy.eval(), way

    def best_of_n(self) -> dict[str, dict[str, float]]:
        """Return the shares among the best of n replies by the reward, for each n."""
        world, most = self.world, N_OF_BEST[-1]
        requests = [request for request in world.test[:100] for _ in range(most)]
        prompts = [world.prompt(request) for request in requests]
        replies = world.draw(self.reference, prompts, 8)
        rewards = self.rewards(prompts, replies).tolist()
        found = {}
        for n in N_OF_BEST:
            kept = best_of(replies, rewards, n)
            proxy = statistics.mean(max(rewards[i : i + n]) for i in range(0, len(rewards), n))
            found[str(n)] = world.shares(requests[::n], kept) | {"proxy": proxy}
        return found


def best_rate(good_at: Callable[[float], float]) -> tuple[float, dict[str, float]]:
    """Return the rate with the largest share of good replies, and all shares by rate."""
    tried = {rate: good_at(rate) for rate in RATES}
    return max(tried, key=tried.__getitem__), {f"{rate:g}": good for rate, good in tried.items()}


def demonstrations(world: World, bases: Sequence[GPT]) -> dict[str, Any]:
    """Return the shares by number of demonstrations, for both losses."""
    found: dict[str, Any] = {}
    for on in ("reply", "all"):

        def good(model: GPT) -> float:
            prompts = [world.prompt(request) for request in world.valid]
            return world.shares(world.valid, world.draw(model, prompts, 7))["is_good"]

        lr, tried = best_rate(lambda lr: good(instructed(world, bases[0], 100, lr, 0, on=on)))  # noqa: B023
        found[on] = {"lr": lr, "valid_good_by_rate": tried}
        for n in N_DEMONSTRATIONS:
            models = [
                instructed(world, base, n, lr, seed, on=on)
                for seed, base in zip(SEEDS, bases, strict=True)
            ]
            found[on][str(n)] = [
                shots(world, model, 0, seed) for seed, model in zip(SEEDS, models, strict=True)
            ]
    return found


def offline(lessons: Sequence[Lesson]) -> dict[str, Any]:
    """Return what each way of learning from the pairs reaches, at its best rate."""
    found = {}
    for arm in ("imitation", "DPO 0.1", "DPO 1"):
        first, world = lessons[0], lessons[0].world
        lr, tried = best_rate(
            lambda lr: first.measure(first.offline(arm, lr), world.valid)["is_good"]  # noqa: B023
        )
        test = [lesson.measure(lesson.offline(arm, lr), world.test) for lesson in lessons]
        found[arm] = {"lr": lr, "valid_good_by_rate": tried, "test": test}
    return found


def online(lessons: Sequence[Lesson]) -> dict[str, Any]:
    """Return the ways of the policies with and without a penalty, each at its best rate."""
    found = {}
    for beta in (0.0, 0.3):
        first, world = lessons[0], lessons[0].world
        rates = RATES[:3]
        tried = {lr: first.online(beta, lr, world.valid)[1][-1]["is_good"] for lr in rates}
        lr = max(tried, key=tried.__getitem__)
        found[f"beta {beta:g}"] = {
            "lr": lr,
            "valid_good_by_rate": {f"{rate:g}": good for rate, good in tried.items()},
            "ways": [lesson.online(beta, lr, world.test)[1] for lesson in lessons],
        }
    found["beta 0, rate of beta 0.3"] = {
        "lr": (lr := found["beta 0.3"]["lr"]),
        "ways": [lesson.online(0.0, lr, world.test)[1] for lesson in lessons],
    }
    return found


def rows(record: dict[str, Any]) -> dict[str, float]:
    """Return what stands in the running table: perplexities of stories, mean of the seeds."""

    def at_the_end(arm: str) -> list[float]:
        return [way[-1]["story_perplexity"] for way in record["online"][arm]["ways"]]

    perplexities = {
        "GPT, pretrained": record["base_perplexity"],
        "GPT, instruction-tuned": [row["story_perplexity"] for row in record["reference"]],
        "GPT, policy gradients, β = 0.3": at_the_end("beta 0.3"),
        "GPT, policy gradients, β = 0": at_the_end("beta 0, rate of beta 0.3"),
    }
    return {name: statistics.fmean(values) for name, values in perplexities.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every part; print and, on request, record each."""
    recording = Recording(command_line(__doc__, __file__), arguments)
    torch.set_num_threads(1)
    world = World()
    recording.begin(
        {
            "what": "share of replies that meet each demand of the rule, by seed",
            "seeds": SEEDS,
            "n_requests": len(world.test),
            "floor": world.floor,
        }
    )
    keep = recording.keep
    bases = [pretrain(world, seed) for seed in SEEDS]
    score = partial(evaluate, documents=world.test_stories, eos_id=world.eos_id)
    keep("base_perplexity", [score(base).perplexity for base in bases])
    keep(
        "shots",
        {str(n): [shots(world, b, n, s) for s, b in enumerate(bases)] for n in N_SHOTS},
    )
    lessons = [Lesson(world, base, seed) for seed, base in zip(SEEDS, bases, strict=True)]
    keep("n_pairs", [len(lesson.pairs) for lesson in lessons])
    keep("held_out_pairs_right", [lesson.held_out_right for lesson in lessons])
    keep("reference", [lesson.measure(lesson.reference, world.test) for lesson in lessons])
    keep("best_of", [lesson.best_of_n() for lesson in lessons])
    keep("offline", offline(lessons))
    keep("online", online(lessons))
    keep("demonstrations", demonstrations(world, bases))
    keep("rows", rows(recording.content))


if __name__ == "__main__":
    main()
