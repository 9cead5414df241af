"""Sharded training: two processes that hold half of a model each, beside one that holds it all."""

import json
from dataclasses import replace

import pytest
import torch

from course_pkg.decoding.generation import generate
from course_pkg.models.gpt import GPT
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.training import checkpoint, sharding
from course_pkg.training.optim import clip_global_norm, make_optimizer
from course_pkg.training.trainer import Trainer, TrainerConfig
from tests.course_pkg.training.processes import train_together
from tests.course_pkg.training.toy import CycleBatches, V

STRUCTURE = TransformerConfig(
    vocab_size=V, context_length=11, d_model=12, n_heads=3, n_layers=2, d_ff=20
)
pytestmark = pytest.mark.slow

CONFIG = TrainerConfig(
    n_steps=12,
    lr=0.01,
    n_accumulate=2,
    n_warmup=2,
    clip_norm=0.5,  # below the usual gradient, so that clipping has something to do
    log_every=2,
    evaluate_every=6,
    checkpoint_every=4,
    n_checkpoints=9,
)


def gpt(dropout: float = 0.0) -> GPT:
    return GPT(STRUCTURE, dropout=dropout, generator=torch.Generator().manual_seed(17))


def sample(model: GPT) -> dict[str, str]:
    """Calls a method other than `forward`."""
    device = next(model.parameters()).device
    ids = torch.tensor([[0, 1]], device=device)
    return {"sample": str(generate(model, ids, 5, temperature=0).tolist())}


class Share(CycleBatches):
    """Every second batch of the stream, or both of them joined; may stop on the way."""

    def __init__(self, number: int | None, stops_at: int | None = None, **settings):
        super().__init__(**settings)
        self.number, self.stops_at = number, stops_at

    def next_batch(self):
        if self.stops_at is not None and self.position >= self.stops_at:
            raise KeyboardInterrupt
        pair = [super(Share, self).next_batch() for _ in range(2)]
        if self.number is not None:
            return pair[self.number]
        return {name: torch.cat([batch[name] for batch in pair]) for name in pair[0]}


def trainer(model, batches, config=CONFIG, **settings):
    return Trainer(model, batches, config, evaluate=sample, **settings)


def _work(number, folder):
    """All that the tests below look at, in one group of processes: to start one takes seconds."""
    from course_pkg.training.distributed import process_group, sum_tensor_over_processes

    with process_group("cpu") as device:
        settings = {"device": device, "shard": True}

        def run(name, resume=False, model=None, batches=None, config=CONFIG, **changes):
            trained = trainer(
                model or gpt().double(),
                batches or Share(number),
                config,
                **{**settings, "folder": folder / name, **changes},
            )
            trained.train(resume=resume)
            return trained

        straight = run("straight")
        held = [
            *straight.model.parameters(),
            *(
                value
                for values in straight.optimizer.state.values()
                for value in values.values()
                if isinstance(value, torch.Tensor)
            ),
        ]
        parts = sum(tensor.to_local().numel() for tensor in held)
        (folder / f"parts-{number}.json").write_text(
            json.dumps([parts, sum(tensor.numel() for tensor in held)])
        )

        run("dropped", model=gpt(dropout=0.2), config=replace(CONFIG, fused=True))
        try:
            stopping = Share(number, stops_at=28)  # in the 8th update of 2 pairs each
            run("resumed", model=gpt(dropout=0.2), batches=stopping,
                config=replace(CONFIG, fused=True))  # fmt: skip
        except KeyboardInterrupt:
            run("resumed", resume=True, model=gpt(dropout=0.2), config=replace(CONFIG, fused=True))

        try:
            run("switched", batches=Share(number, stops_at=28))
        except KeyboardInterrupt:
            run("switched", resume=True, shard=False)

        poisoned = Share(number, poison_at=2 * 30 + number + 1)  # in the 31st update
        spiky = replace(CONFIG, n_steps=32, lr=0.02, spike_factor=1.5, n_accumulate=1)
        run("poisoned", batches=poisoned, config=spiky)
        for precision in ("bfloat16", "float16"):
            low = replace(CONFIG, precision=precision, fused=True)
            run(precision, model=gpt(), config=low)
        run("muon", config=replace(CONFIG, optimizer="muon"))

        uneven = torch.nn.Linear(3, 5).requires_grad_(False)
        uneven.weight.copy_(torch.arange(15.0).view(5, 3))
        uneven.bias.fill_(2.0)
        uneven.requires_grad_(True)
        sharding.shard(uneven, device)
        x = torch.full((1, 3), number + 1.0)
        uneven(x).square().sum().backward()
        norm = clip_global_norm(uneven.parameters(), 0.1)
        lengths = [weight.grad.to_local().square().sum() for weight in uneven.parameters()]
        clipped = sum_tensor_over_processes(torch.stack(lengths)).sum().sqrt()
        (folder / f"norm-{number}.json").write_text(json.dumps([float(norm), float(clipped)]))

        different = torch.nn.Linear(3, 5)
        torch.nn.init.constant_(different.weight, number)
        with pytest.raises(ValueError, match="weights differ"):
            sharding.shard(different, device)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder in which two processes left what they did."""
    return train_together(_work, tmp_path_factory.mktemp("sharded"))


@pytest.fixture(scope="module")
def alone():
    """One process, whole model, on the joined batches."""
    one = trainer(gpt().double(), Share(None))
    one.train()
    return one


def newest(folder):
    return checkpoint.load_checkpoint(checkpoint.list_checkpoints(folder)[-1])


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def losses(history):
    return {entry["step"]: entry["loss"] for entry in history if "loss" in entry}


def norms(history):
    return [entry["gradient_norm"] for entry in history if "gradient_norm" in entry]


def samples(history):
    return [entry["sample"] for entry in history if "sample" in entry]


def test_sharded_training_equals_one_process_on_the_joined_batch(trained, alone):
    weights = newest(trained / "straight").weights
    assert weights.keys() == alone.model.state_dict().keys()
    for name, weight in alone.model.state_dict().items():
        # 1e-7: Adam magnifies the rounding of sums taken in another order.
        torch.testing.assert_close(weights[name], weight, rtol=0, atol=1e-7)
    history = log(trained / "straight")
    assert losses(history) == pytest.approx(losses(alone.history), abs=1e-6)
    assert norms(history) == pytest.approx(norms(alone.history), rel=1e-6)
    assert samples(history) == samples(alone.history)


def test_each_process_holds_about_half_of_weights_and_optimizer_state(trained):
    held = [json.loads((trained / f"parts-{n}.json").read_text()) for n in range(2)]
    (first, n_all), (second, _) = held
    assert first + second == n_all
    n_params = sum(weight.numel() for weight in gpt().parameters())
    assert n_all == 3 * n_params  # weights and AdamW's two moments
    # Every tensor is divided along its first axis; one of odd length leaves a row more to one.
    assert max(first, second) < 0.53 * n_all


def test_interrupted_sharded_training_bit_for_bit_resumes_exactly(trained):
    straight, resumed = newest(trained / "dropped"), newest(trained / "resumed")
    assert all(torch.equal(resumed.weights[name], w) for name, w in straight.weights.items())
    events = [entry["event"] for entry in log(trained / "resumed") if "event" in entry]
    assert events == ["resumed from step-000000004"]


def test_sharded_run_can_go_on_whole(trained):
    straight, switched = newest(trained / "straight"), newest(trained / "switched")
    for name, weight in straight.weights.items():
        torch.testing.assert_close(switched.weights[name], weight, rtol=0, atol=1e-7)


def test_sharded_checkpoint_loads_in_one_process(trained, alone):
    path = checkpoint.list_checkpoints(trained / "straight")[-1]
    loaded = checkpoint.load_checkpoint(path)
    model = gpt().double()
    checkpoint.load_weights(model, loaded.weights, path)
    ids = torch.tensor([[3, 1, 4, 1, 0]])
    # 1e-6: weights that agree within 1e-7, summed over
    torch.testing.assert_close(model(ids)[0], alone.model(ids)[0], rtol=0, atol=1e-6)
    optimizer = make_optimizer(model, lr=0.01)
    optimizer.load_state_dict(loaded.state["optimizer"])
    pairs = zip(optimizer.state.values(), alone.optimizer.state.values(), strict=True)
    for ours, theirs in pairs:
        assert ours["step"] == theirs["step"] == 12
        torch.testing.assert_close(ours["mean"], theirs["mean"], rtol=0, atol=1e-7)


def test_sharded_training_rolls_back_after_a_spike(trained):
    events = [entry["event"] for entry in log(trained / "poisoned") if "event" in entry]
    assert len(events) == 1
    assert "is a spike: rolled back to step-000000028" in events[0]
    assert newest(trained / "poisoned").step == 32


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_sharded_training_in_low_precision_stays_near_full(trained, alone, precision):
    found = losses(log(trained / precision))
    # bfloat16 keeps 8 bits of a number, float16 keeps 11; 12 updates add up a few such errors.
    assert found == pytest.approx(losses(alone.history), abs=0.05)


def test_sharded_muon_orthogonalizes_whole_matrices(trained):
    one = trainer(gpt().double(), Share(None), replace(CONFIG, optimizer="muon"))
    one.train()
    # Products in bfloat16, of the same matrices, are summed in another order.
    assert losses(log(trained / "muon")) == pytest.approx(losses(one.history), abs=0.01)


def test_clipping_of_divided_gradients_matches_torch(trained):
    whole = torch.nn.Linear(3, 5)
    with torch.no_grad():
        whole.weight.copy_(torch.arange(15.0).view(5, 3))
        whole.bias.fill_(2.0)
    # The processes' gradients are averaged.
    sum(whole(torch.full((1, 3), n + 1.0)).square().sum() / 2 for n in range(2)).backward()
    expected = float(torch.nn.utils.clip_grad_norm_(whole.parameters(), 0.1))
    for n in range(2):
        norm, clipped = json.loads((trained / f"norm-{n}.json").read_text())
        assert norm == pytest.approx(expected, rel=1e-6)  # float32
        assert clipped == pytest.approx(0.1, rel=1e-4)


def test_shard_rejects_a_process_that_is_alone():
    with pytest.raises(ValueError, match="shard is True, but this process is alone"):
        Trainer(gpt(), CycleBatches(), CONFIG, shard=True)


def test_shard_rejects_an_optimizer_over_the_whole_weights():
    model = gpt()
    with pytest.raises(ValueError, match="optimizer is given"):
        Trainer(model, CycleBatches(), CONFIG, shard=True, optimizer=make_optimizer(model, lr=0.01))
