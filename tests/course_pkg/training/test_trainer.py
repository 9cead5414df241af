"""The training loop: what accumulates, resumes, recovers and runs on several processes."""

import json
import math
import multiprocessing
import os
import signal
import time

import pytest
import torch

from course_pkg.models import IGNORE
from course_pkg.training import checkpoint
from course_pkg.training import trainer as trainer_module
from course_pkg.training.log import OWN_NAMES
from course_pkg.training.prefetch import Prefetched
from course_pkg.training.trainer import Trainer, TrainerConfig, TrainingDivergedError
from tests.course_pkg.training.processes import train_together
from tests.course_pkg.training.toy import BigramModel, CycleBatches, V, model


def config(**changes) -> TrainerConfig:
    settings = {
        "n_steps": 30,
        "lr": 0.03,
        "n_warmup": 3,
        "log_every": 5,
        "checkpoint_every": 10,
        "weight_decay": 0.01,
    }
    return TrainerConfig(**(settings | changes))


def weights(trainer: Trainer) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trainer.model.parameters()])


def losses(history) -> dict[int, float]:
    return {entry["step"]: entry["loss"] for entry in history if "loss" in entry}


def test_trainer_learns_a_source_of_known_entropy():
    trainer = Trainer(model(dropout=0.0), CycleBatches(), config(n_steps=400, lr=0.05))
    history = trainer.train()
    # The next token is the successor with 0.8 + 0.2 / 5, each other one with 0.2 / 5.
    right, wrong = 0.84, 0.04
    entropy = -right * math.log(right) - (V - 1) * wrong * math.log(wrong)
    # 0.08 nats: the last entries are means over a few hundred tokens, standard error 0.03.
    assert sum(list(losses(history).values())[-10:]) / 10 == pytest.approx(entropy, abs=0.08)


def test_trainer_with_a_given_optimizer_and_schedule_equals_a_written_out_loop():
    def rate(step: int) -> float:
        return 0.5 / (1 + step)

    toy, twin = model(dropout=0.0), model(dropout=0.0)
    trainer = Trainer(
        toy,
        CycleBatches(),
        config(n_steps=7, log_every=7, checkpoint_every=7, clip_norm=None),
        optimizer=torch.optim.SGD(toy.parameters(), lr=9.0),
        learning_rate=rate,
    )
    trainer.train()
    batches = CycleBatches()
    for step in range(7):
        loss = twin(**batches.next_batch())[1]
        gradients = torch.autograd.grad(loss, list(twin.parameters()))
        with torch.no_grad():
            for weight, gradient in zip(twin.parameters(), gradients, strict=True):
                weight -= rate(step) * gradient
    for ours, theirs in zip(toy.parameters(), twin.parameters(), strict=True):
        # 1e-6: float32, and the trainer sums an update's shares in another order.
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


class TwoAtOnce(CycleBatches):
    """Joins each pair of batches into one."""

    def next_batch(self):
        pair = [super(TwoAtOnce, self).next_batch() for _ in range(2)]
        return {name: torch.cat([batch[name] for batch in pair]) for name in pair[0]}


def test_trainer_accumulation_equals_the_large_batch_when_padding_is_uneven():
    def train(batches, n_accumulate):
        toy = model(dropout=0.0).double()
        trainer = Trainer(toy, batches, config(n_accumulate=n_accumulate))
        return losses(trainer.train()), weights(trainer)

    small, small_weights = train(CycleBatches(), 2)
    large, large_weights = train(TwoAtOnce(), 1)
    # The loss is summed in float32 for the log.
    assert small == pytest.approx(large, abs=1e-6)
    # 1e-7: Adam divides by the gradient's size, which magnifies the rounding of tiny gradients.
    torch.testing.assert_close(small_weights, large_weights, rtol=0, atol=1e-7)


class MeanOfNothing(BigramModel):
    """Says nan of a batch without targets, as a loss written by torch alone does."""

    def forward(self, ids, targets=None):
        logits = self.out(self.dropout(self.embed(ids)))
        flat = logits.flatten(0, 1), targets.flatten()
        return logits, torch.nn.functional.cross_entropy(*flat, ignore_index=IGNORE)


def compilable():
    """The loss of the package is checked for shapes under pytest, and checks do not compile."""
    torch.manual_seed(17)
    return MeanOfNothing(dropout=0.0)


@pytest.mark.parametrize("kind", [BigramModel, MeanOfNothing])
def test_trainer_accumulation_equals_the_large_batch_when_batches_have_no_target(kind):
    def train(batches, n_accumulate):
        torch.manual_seed(17)
        trainer = Trainer(kind(dropout=0.0).double(), batches, config(n_accumulate=n_accumulate))
        return losses(trainer.train()), weights(trainer)

    small, small_weights = train(CycleBatches(empty_every=4), 2)
    large, large_weights = train(TwoAtOnce(empty_every=4), 1)
    assert small == pytest.approx(large, abs=1e-6)  # the loss is summed in float32 for the log
    # 1e-7: Adam divides by the gradient's size, which magnifies the rounding of tiny gradients.
    torch.testing.assert_close(small_weights, large_weights, rtol=0, atol=1e-7)


def test_trainer_passes_over_updates_without_a_target():
    def train(batches):
        trainer = Trainer(model(dropout=0.0), batches, config(n_steps=6, log_every=1))
        return trainer.train(), weights(trainer)

    class WithoutEmpty(CycleBatches):
        def next_batch(self):
            batch = super().next_batch()
            return batch if (batch["targets"] != IGNORE).any() else super().next_batch()

    history, trained = train(CycleBatches(empty_every=3))
    expected, expected_weights = train(WithoutEmpty(empty_every=3))
    assert losses(history) == losses(expected)
    assert torch.equal(trained, expected_weights)


def test_trainer_rejects_data_without_any_target_and_models_without_anything_to_train(monkeypatch):
    monkeypatch.setattr(trainer_module, "MOST_EMPTY", 7)
    with pytest.raises(ValueError, match="7 updates in a row have no target: all are -100"):
        Trainer(model(), CycleBatches(empty_every=1), config()).train()
    with pytest.raises(ValueError, match="none of the model's 3 parameters is to be trained"):
        Trainer(model().requires_grad_(False), CycleBatches(), config())


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_trainer_evaluates_in_the_precision_of_the_run(precision):
    def evaluate(toy):
        assert torch.get_autocast_dtype("cpu") == torch.bfloat16
        return {"is_low": float(torch.is_autocast_enabled("cpu"))}

    settings = config(n_steps=5, precision=precision)
    entry = Trainer(model(), CycleBatches(), settings, evaluate=evaluate).train()[-1]
    assert entry["is_low"] == (precision == "bfloat16")


def test_float32_is_not_rounded_to_tf32():
    torch.backends.cudnn.allow_tf32 = True  # torch's own choice for recurrent kernels
    Trainer(model(), CycleBatches(), config())
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.matmul.allow_tf32


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_trainer_bit_for_bit_resumes_exactly(tmp_path, precision, fused):
    settings = config(precision=precision, fused=fused)
    unbroken = Trainer(model(), CycleBatches(), settings, folder=tmp_path / "unbroken")
    unbroken.train()

    class Interrupted(CycleBatches):
        def next_batch(self):
            if self.position == 17:
                raise KeyboardInterrupt
            return super().next_batch()

    first = Trainer(model(), Interrupted(), settings, folder=tmp_path / "broken")
    with pytest.raises(KeyboardInterrupt):
        first.train()
    other_start = CycleBatches()
    other_start.position = 999
    torch.manual_seed(4)
    second = Trainer(model(), other_start, settings, folder=tmp_path / "broken")
    second.train(resume=True)

    assert torch.equal(weights(second), weights(unbroken))
    assert losses(second.history) == losses(unbroken.history)
    assert {"step": 10, "event": "resumed from step-000000010"} in second.history


def test_trainer_recovers_from_a_poisoned_batch_by_rolling_back(tmp_path):
    batches = CycleBatches(poison_at=57)
    settings = config(n_steps=80, lr=0.05, spike_factor=2.5)
    trainer = Trainer(model(dropout=0.0), batches, settings, folder=tmp_path)
    history = trainer.train()
    events = [entry["event"] for entry in history if "event" in entry]
    assert len(events) == 1
    assert "rolled back to step-000000050" in events[0]
    assert batches.epoch == 1
    logged = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert logged == history


class NotANumber(CycleBatches):
    """Breaks the model's weights after a while, whatever the order of the data."""

    def __init__(self, toy):
        super().__init__()
        self.toy = toy

    def next_batch(self):
        if self.position == 12:
            torch.nn.init.constant_(self.toy.out.bias, math.nan)
        return super().next_batch()


def test_trainer_stops_with_advice_when_roll_backs_do_not_help(tmp_path):
    toy = model()
    trainer = Trainer(toy, NotANumber(toy), config(n_rollbacks=2), folder=tmp_path)
    with pytest.raises(TrainingDivergedError, match=r"loss nan after update 15.*2 roll backs"):
        trainer.train()
    newest = checkpoint.load_checkpoint(checkpoint.list_checkpoints(tmp_path)[-1])
    assert newest.step == 10
    assert all(bool(w.isfinite().all()) for w in newest.weights.values())


def test_trainer_without_a_folder_says_that_it_cannot_roll_back():
    toy = model()
    with pytest.raises(TrainingDivergedError, match="give the trainer a folder"):
        Trainer(toy, NotANumber(toy), config()).train()


def test_trainer_logs_what_evaluate_reports_in_evaluation_mode():
    def evaluate(toy):
        assert not toy.training
        assert not torch.is_grad_enabled()
        return {"valid_loss": 1.5, "sample": "abc"}

    trainer = Trainer(model(), CycleBatches(), config(evaluate_every=10), evaluate=evaluate)
    entries = [entry for entry in trainer.train() if "valid_loss" in entry]
    assert [entry["step"] for entry in entries] == [10, 20, 30]
    assert entries[0]["sample"] == "abc"


@pytest.mark.parametrize("name", OWN_NAMES)
def test_figures_of_an_evaluation_cannot_be_taken_for_the_logs_own(name):
    one = Trainer(model(), CycleBatches(), config(), evaluate=lambda _: {"nats": 1.0, name: 3})
    with pytest.raises(ValueError, match=f"evaluate returned '{name}'.*such as 'valid_{name}'"):
        one.train()
    assert all(entry["step"] <= 30 for entry in one.history)
    unnamed = Trainer(model(), CycleBatches(), config(), evaluate=lambda _: {3: 1.0})
    with pytest.raises(ValueError, match="a figure called 3; a name must be text"):
        unnamed.train()


class TwoTexts(BigramModel):
    """Reads a source too, and predicts little of what it reads."""

    def forward(self, ids, targets, source_ids):
        return super().forward(ids, targets)


def test_speed_is_of_all_tokens_that_were_read(monkeypatch):
    class Masked(CycleBatches):
        def next_batch(self):
            batch = super().next_batch()
            batch["targets"][:, 1:] = IGNORE
            return batch | {"source_ids": torch.zeros(3, 7, dtype=torch.int64)}

    clock = iter(range(10**6))
    monkeypatch.setattr(trainer_module.time, "perf_counter", lambda: next(clock))
    torch.manual_seed(17)
    settings = config(n_steps=2, log_every=1, checkpoint_every=1, n_warmup=0, n_accumulate=2)
    entries = Trainer(TwoTexts(), Masked(), settings, full_speed=1080.0).train()
    speeds = [(e["tokens_per_second"], e["mfu"]) for e in entries]
    assert speeds == [(2 * 3 * (11 + 7), 0.1)] * 2


def test_trainer_low_precision_stays_near_full_precision():
    def final_loss(precision):
        toy = model(dropout=0.0)
        return Trainer(toy, CycleBatches(), config(precision=precision)).train()[-1]["loss"]

    full = final_loss("float32")
    # bfloat16 keeps 8 bits of a number, float16 keeps 11; 30 updates add up a few such errors.
    assert final_loss("bfloat16") == pytest.approx(full, abs=0.05)
    assert final_loss("float16") == pytest.approx(full, abs=0.05)


@pytest.mark.slow
def test_trainer_compiled_equals_eager():
    eager = Trainer(compilable(), CycleBatches(), config())
    compiled = Trainer(compilable(), CycleBatches(), config(compile=True))
    # 1e-5: the compiler fuses float32 operations and rounds elsewhere.
    assert losses(compiled.train()) == pytest.approx(losses(eager.train()), abs=1e-5)


@pytest.mark.gpu
# The compiler recommends a lower precision of float32 products, which no test asks for.
@pytest.mark.filterwarnings("ignore:TensorFloat32")
@pytest.mark.parametrize(
    ("precision", "compile", "tolerance"),
    # float32: rounding that 30 updates magnify; bfloat16 keeps 8 bits of a number
    [("float32", False, 1e-3), ("bfloat16", False, 0.05), ("bfloat16", True, 0.05)],
)
def test_trainer_on_a_gpu_stays_near_the_cpu(precision, compile, tolerance):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")

    def train(device, **changes):
        settings = config(fused=True, **changes)
        return losses(Trainer(compilable(), CycleBatches(), settings, device=device).train())

    found = train("cuda", precision=precision, compile=compile)
    assert found == pytest.approx(train("cpu"), abs=tolerance)


@pytest.mark.gpu
def test_trainer_updates_never_make_the_cpu_wait_for_the_gpu():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    batches = Prefetched(CycleBatches(), pin=True)
    settings = config(fused=True, precision="bfloat16", n_accumulate=2)
    trainer = Trainer(model(), batches, settings, device="cuda")
    trainer._update()  # the first one makes the optimizer's state
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            trainer._update()
    finally:
        torch.cuda.set_sync_debug_mode("default")


class OneOfTwo(CycleBatches):
    """Every second batch of the same stream: what one of two processes sees."""

    def __init__(self, number, **changes):
        super().__init__(**changes)
        self.number = number

    def next_batch(self):
        pair = [super(OneOfTwo, self).next_batch() for _ in range(2)]
        return pair[self.number]


def _train_as_process(number, folder, empty_every):
    from course_pkg.training.distributed import process_group

    with process_group("cpu") as device:
        trainer = Trainer(
            model(dropout=0.0).double(),
            OneOfTwo(number, empty_every=empty_every),
            config(),
            folder=folder,
            device=device,
        )
        trainer.train()


# 4: the second process has no target in every other update
@pytest.mark.parametrize("empty_every", [None, 4])
def test_trainer_on_two_processes_equals_one_on_the_joined_batch(tmp_path, empty_every):
    folder = train_together(_train_as_process, tmp_path, empty_every)

    alone = Trainer(model(dropout=0.0).double(), TwoAtOnce(empty_every=empty_every), config())
    history = alone.train()
    together = checkpoint.load_checkpoint(checkpoint.list_checkpoints(folder)[-1])
    for name, weight in alone.model.state_dict().items():
        # 1e-7: Adam magnifies the rounding of sums taken in another order.
        torch.testing.assert_close(together.weights[name], weight, rtol=0, atol=1e-7)
    logged = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert losses(logged) == pytest.approx(losses(history), abs=1e-6)


def _train_to_the_end(folder):
    settings = config(n_steps=600, log_every=1, checkpoint_every=2)
    Trainer(model(), CycleBatches(), settings, folder=folder).train(resume=True)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="forks")
# Forking is safe here: one torch thread, and it spares each start the import of torch.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_trainer_killed_at_fifty_random_moments_resumes_exactly(tmp_path):
    context = multiprocessing.get_context("fork")
    _train_to_the_end(tmp_path / "unbroken")
    killed, n_killed = [tmp_path / "killed-0"], 0
    generator = torch.Generator().manual_seed(5)
    while n_killed < 50:
        before = checkpoint.list_checkpoints(killed[-1])
        process = context.Process(target=_train_to_the_end, args=(killed[-1],))
        process.start()
        while process.is_alive() and checkpoint.list_checkpoints(killed[-1]) == before:
            time.sleep(0.001)
        time.sleep(0.03 * torch.rand((), generator=generator).item())
        process.kill()
        process.join()
        if process.exitcode == 0:  # where others compute here, the kill may come too late
            killed.append(tmp_path / f"killed-{len(killed)}")
        else:
            assert process.exitcode == -signal.SIGKILL
            n_killed += 1
    _train_to_the_end(killed[-1])
    whole, *pieces = (
        checkpoint.load_checkpoint(checkpoint.list_checkpoints(folder)[-1])
        for folder in (tmp_path / "unbroken", *killed)
    )
    for one in (whole, *pieces):
        assert one.step == 600
        assert all(torch.equal(one.weights[name], whole.weights[name]) for name in whole.weights)


def test_trainer_refuses_to_overwrite_and_rejects_other_settings(tmp_path):
    Trainer(model(), CycleBatches(), config(), folder=tmp_path).train()
    with pytest.raises(FileExistsError, match="has checkpoints"):
        Trainer(model(), CycleBatches(), config(), folder=tmp_path).train()
    other = Trainer(model(), CycleBatches(), config(lr=0.5), folder=tmp_path)
    with pytest.raises(checkpoint.CheckpointError, match=r"lr was 0\.03"):
        other.train(resume=True)


def test_trainer_with_a_stable_rate_goes_on_beyond_its_end_and_ends_elsewhere(tmp_path):
    stable = {"schedule": "warmup_stable_decay"}
    unbroken = Trainer(model(), CycleBatches(), config(**stable, n_steps=40, n_decay=10))
    unbroken.train()
    Trainer(model(), CycleBatches(), config(**stable, n_steps=20), folder=tmp_path).train()
    ending = config(**stable, n_steps=40, n_decay=10)
    resumed = Trainer(model(), CycleBatches(), ending, folder=tmp_path)
    resumed.train(resume=True)
    assert torch.equal(weights(resumed), weights(unbroken))
    # Once the rate has fallen, another end would be another run.
    other = Trainer(model(), CycleBatches(), config(**stable, n_steps=60), folder=tmp_path)
    with pytest.raises(
        checkpoint.CheckpointError, match="n_steps was 40, not 60; n_decay was 10, not 0"
    ):
        other.train(resume=True)


def _gpu_is_full(**batch):
    raise torch.OutOfMemoryError("tried to allocate 80 GiB")


def _memory_is_full(**batch):
    torch.empty(2**48)  # more bytes than a process may address


@pytest.mark.parametrize("exhausted", [_gpu_is_full, _memory_is_full])
def test_trainer_out_of_memory_says_what_to_do(monkeypatch, exhausted):
    trainer = Trainer(model(), CycleBatches(), config())
    monkeypatch.setattr(trainer.model, "forward", exhausted)
    with pytest.raises(MemoryError, match=r"\(3, 11\) does not fit.*raise n_accumulate"):
        trainer.train()


@pytest.mark.parametrize(("log_every", "checkpoint_every"), [(10, 200), (30, 180), (500, 500)])
def test_trainer_config_fits_a_checkpoint_every_that_was_not_set(log_every, checkpoint_every):
    assert TrainerConfig(n_steps=5, log_every=log_every).checkpoint_interval == checkpoint_every


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_steps": 0}, "n_steps is 0"),
        ({"lr": -1.0}, r"lr is -1\.0"),
        ({"precision": "float8"}, "'float8'"),
        ({"schedule": "step"}, "'step'"),
        ({"schedule": "inverse_sqrt", "n_warmup": 0}, "n_warmup is 0; the schedule 'inverse_sqrt'"),
        ({"checkpoint_every": 7}, "checkpoint_every is 7.*multiple of log_every, 5"),
        ({"spike_factor": 1.0}, r"spike_factor is 1\.0"),
        ({"beta2": 1.0}, r"beta2 is 1\.0"),
        ({"spike_margin": -1.0}, r"spike_margin is -1\.0"),
        ({"n_warmup": 30}, "n_warmup is 30"),
        *(
            ({name: None}, f"{name} is None; it must be a whole number")
            for name in ("n_steps", "n_accumulate", "n_warmup", "n_decay", "n_rollbacks", "seed")
        ),
        *(
            ({name: None}, f"{name} is None; it must be a number")
            for name in ("lr", "beta2", "spike_factor", "spike_margin")
        ),
    ],
)
def test_trainer_config_rejects_what_cannot_work(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)
