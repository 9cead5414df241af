"""A reward that is checked and not learned: the story assistant's rule, by GRPO and by imitation.

    python -m benchmarks.chapters.checked_reward [--record FILE]

World, rule and models are those of `benchmarks.chapters.story_assistant`, whose record has the
policy gradients on a learned reward. A reply is worth 1 if it meets all three demands of the rule,
and 0 if not. Two ways to learn from 60 times 48 drawn replies:
  groups                 GRPO (Shao et al. 2024): 6 requests with 8 replies each, compared within
      these, no penalty. Each batch is learned from once, so that GRPO's ratio is 1 and its clipping
      idle; a reply's loss is the sum over its tokens
  imitation of checked   the replies of the tuned model that pass the check
Shares are of 200 requests; every rate is the best of three or four by the mean of three seeds on
200 others, each seed with a pretraining of its own.
"""

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.chapters.story_assistant import (
    N_DRAWS,
    N_UPDATES,
    RATES,
    SEEDS,
    Ids,
    Lesson,
    World,
    pretrain,
    tuned,
)
from benchmarks.records import Recording, command_line
from course_pkg.models.gpt import GPT
from course_pkg.text.stories.requests import Request

N_REPLIES = 8
Policy = tuple[GPT, list[dict[str, float]]]
"""A policy, and the looks at it on its way: the last is where it ended."""


def checked(world: World, requests: Sequence[Request], replies: Sequence[Ids]) -> Tensor:
    """Return 1 for each reply that meets all demands of the rule, and else 0."""
    verdicts = [world.judge(*pair) for pair in zip(requests, replies, strict=True)]
    return torch.tensor([float(verdict.is_good) for verdict in verdicts])


def imitate_checked(lesson: Lesson, lr: float) -> Policy:
    """Draw as many replies as the policies do, and imitate those that pass the check."""
    world = lesson.world
    asked = [q for q, _ in world.requests.sample(1000, seed=300 + lesson.seed)]
    kept: list[tuple[Ids, Ids]] = []
    for step in range(N_UPDATES):
        some = [asked[(step * N_DRAWS + n) % len(asked)] for n in range(N_DRAWS)]
        prompts = [world.prompt(request) for request in some]
        replies = world.draw(lesson.reference, prompts, 1000 * lesson.seed + step)
        passed = checked(world, some, replies).tolist()
        rows = zip(prompts, replies, passed, strict=True)
        kept += [(prompt, reply) for prompt, reply, is_good in rows if is_good]

    def loss_of(policy: nn.Module, examples: list[Any]) -> Tensor:
        ids, targets, _ = world.rows(*zip(*examples, strict=True))
        loss: Tensor = policy(ids, targets)[1]
        return loss

    policy = tuned(lesson.policy(), kept, loss_of, lr, lesson.seed, N_UPDATES, N_DRAWS)
    return policy, [{"n_kept": len(kept)} | lesson.measure(policy, world.test)]


def by_check(lesson: Lesson, lr: float, n_replies: int = N_REPLIES) -> Policy:
    """Raise the check by policy gradients."""
    reward = partial(checked, lesson.world)
    return lesson.online(0.0, lr, lesson.world.test, reward=reward, n_replies=n_replies)


ARMS: dict[str, Callable[[Lesson, float], Policy]] = {
    "groups": by_check,
    "imitation of checked": imitate_checked,
}


def searched(arm: str, lessons: Sequence[Lesson]) -> dict[str, Any]:
    """Return the ways of an arm at its best rate.

    A policy at each rate is judged twice at its end: on other requests, to choose the rate, and on
    those that are reported.
    """
    world, learn, tried = lessons[0].world, ARMS[arm], {}
    rates = RATES if arm.startswith("imitation") else RATES[:3]  # as in story_assistant
    for lr in rates:
        ends = [learn(lesson, lr) for lesson in lessons]
        chosen_by = [
            lesson.measure(policy, world.valid)["is_good"]
            for lesson, (policy, _) in zip(lessons, ends, strict=True)
        ]
        tried[lr] = statistics.fmean(chosen_by), [way for _, way in ends]
        print(arm, lr, round(tried[lr][0], 3), flush=True)
    lr = max(tried, key=lambda rate: tried[rate][0])
    return {
        "lr": lr,
        "valid_good_by_rate": {f"{rate:g}": good for rate, (good, _) in tried.items()},
        "ways": tried[lr][1],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the arms that are not recorded yet, and record each."""
    recording = Recording(command_line(__doc__, __file__, arms=ARMS), arguments)
    torch.set_num_threads(1)
    world = World()
    recording.begin(
        {"what": "share of replies that meet each demand of the rule, by seed"},
        same={
            "seeds": SEEDS,
            "n_requests": len(world.test),
            "n_drawn": N_UPDATES * N_DRAWS,
        },
    )
    if not (arms := recording.missing(ARMS)):
        return
    lessons = [Lesson(world, pretrain(world, seed), seed) for seed in SEEDS]
    reference = [lesson.measure(lesson.reference, world.test) for lesson in lessons]
    recording.keep("reference", reference)
    recording.keep("n_pairs", [len(lesson.pairs) for lesson in lessons])
    recording.keep("held_out_pairs_right", [lesson.held_out_right for lesson in lessons])
    for arm in arms:
        recording.keep(arm, searched(arm, lessons), within="arms")


if __name__ == "__main__":
    main()
