"""What people do around the package: own optimizers, evaluations that fail, others' files."""

import json
import shutil

import jaxtyping
import numpy as np
import pytest
import torch
import transformers
from torch import nn

from course_pkg.models.adaptation import TextClassifier
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.recurrent import BidirectionalEncoder, SequenceClassifier
from course_pkg.recipes import Recipe
from course_pkg.text.batches import pack_documents, window_batches
from course_pkg.text.batches.token_files import write_token_file
from course_pkg.text.tokenizers import ByteTokenizer, load_tokenizer
from course_pkg.train import main
from course_pkg.training import optim, planning
from course_pkg.training.checkpoint import CheckpointError, list_checkpoints
from course_pkg.training.schedules import constant_schedule
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.weights.model_folders import load_model

V = 11
TEXT = torch.randint(V, (200,), generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def as_readers_run_it():
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def gpt():
    return GPT(gpt_tiny(V, 8), generator=torch.Generator().manual_seed(0))


def trainer(folder=None, model=None, evaluate=None, **options):
    model = model or gpt()
    config = {"n_steps": 4, "log_every": 2, "checkpoint_every": 4, "schedule": "constant"}
    config = TrainerConfig(**{**config, **options.pop("config", {})})
    batches = window_batches(TEXT, 8, 4, seed=0)
    return Trainer(model, batches, config, folder=folder, evaluate=evaluate, **options)


def weights(model):
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def grouped(model, *rates):
    first, *others = model.parameters()
    groups = zip(([first], others), rates, strict=True)
    return torch.optim.SGD([{"params": some, "lr": lr} for some, lr in groups])


@pytest.mark.parametrize("own_schedule", [False, True])
def test_rates_of_ones_own_optimizer_are_not_overruled_in_silence(own_schedule):
    model = gpt()
    options = {"learning_rate": constant_schedule(1.0)} if own_schedule else {}
    with pytest.raises(ValueError, match=r"groups have the rates 1e-05, 0\.01; the trainer sets"):
        trainer(model=model, optimizer=grouped(model, 0.01, 1e-5), **options)
    other = torch.optim.SGD(model.parameters(), lr=0.5)
    if own_schedule:  # whose rates replace it, as one sees
        trainer(model=model, optimizer=other, **options).train()
        return
    with pytest.raises(ValueError, match=r"optimizer has lr 0\.5, but the config 0\.001"):
        trainer(model=model, optimizer=other)
    trainer(model=model, optimizer=grouped(model, 1e-3, 1e-3)).train()


def test_updates_before_an_evaluation_that_fails_are_kept_and_it_is_made_up_for(tmp_path):
    def fails(model):
        raise RuntimeError("my own metric")

    config = {"n_steps": 6, "checkpoint_every": 6, "evaluate_every": 2}
    with pytest.raises(RuntimeError, match="my own metric"):
        trainer(tmp_path / "run", evaluate=fails, config=config).train()
    assert list_checkpoints(tmp_path / "run")[-1].name == "step-000000002"
    looked = []
    again = trainer(tmp_path / "run", evaluate=lambda m: {"x": len(looked)}, config=config)
    history = again.train(resume=True)
    assert [entry["step"] for entry in history if "x" in entry] == [2, 4, 6]
    whole = trainer(config=config)
    whole.train()
    assert weights(again.model).equal(weights(whole.model))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda model: model.half(), "as torch.float16 on cpu, trained"),
        (lambda model: model.requires_grad_(False), "as torch.float32 on cpu, frozen"),
        (lambda model: setattr(model, "extra", nn.Linear(2, 2)), "extra.weight in the model"),
        (lambda model: delattr(model.stack, "final_norm"), "stack.final_norm.weight out of the"),
    ],
)
def test_evaluation_that_leaves_other_weights_is_refused(change, said):
    def evaluate(model):
        change(model)
        return {"x": 1.0}

    with pytest.raises(ValueError, match=f"evaluate left .*{said}"):
        trainer(evaluate=evaluate, config={"evaluate_every": 2}).train()


class OfOthers(nn.Module):
    """Takes what transformers calls a text."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(V, V)

    def forward(self, input_ids, labels=None):
        return self.table(input_ids), None


def test_model_that_takes_other_names_is_told_which():
    with pytest.raises(ValueError, match="batches have ids, targets, and OfOthers takes input_ids"):
        trainer(model=OfOthers()).train()
    config = transformers.GPT2Config(vocab_size=V, n_positions=8, n_embd=8, n_layer=1, n_head=2)
    with pytest.raises(ValueError, match="and GPT2LMHeadModel takes input_ids"):
        trainer(model=transformers.GPT2LMHeadModel(config)).train()


def test_renamed_checkpoint_is_not_taken_for_another_step(tmp_path):
    trainer(tmp_path).train()
    (newest,) = list_checkpoints(tmp_path)[1:]
    newest.rename(tmp_path / "step-000000009")
    with pytest.raises(CheckpointError, match=r"step-000000009 .* is step-000000004 by what is in"):
        trainer(tmp_path, config={"n_steps": 12}).train(resume=True)


def test_other_length_of_a_run_hides_no_other_difference(tmp_path):
    """Of another n_steps other rates follow, which nobody has to read."""
    trainer(tmp_path, config={"schedule": "cosine"}).train()
    other = TrainerConfig(n_steps=8, log_every=2, checkpoint_every=4)
    batches = window_batches(TEXT, 8, 5, seed=0)
    with pytest.raises(CheckpointError, match=r"n_steps was 4, not 8; batch_size was 4, not 5$"):
        Trainer(gpt(), batches, other, folder=tmp_path).train(resume=True)


def transformers_folder(path):
    config = transformers.GPT2Config(vocab_size=V, n_positions=8, n_embd=8, n_layer=1, n_head=2)
    transformers.GPT2LMHeadModel(config).save_pretrained(path)
    return path


def test_files_of_other_packages_are_said_to_be_such(tmp_path):
    with pytest.raises(ValueError, match=r"config\.json: it is of another package; .* load_gpt2"):
        load_model(transformers_folder(tmp_path / "gpt2"))
    (tmp_path / "tokenizer.json").write_text(json.dumps({"version": "1.0", "model": {}}))
    with pytest.raises(ValueError, match="it has no 'kind', as those of other packages"):
        load_tokenizer(tmp_path / "tokenizer.json")


@pytest.mark.parametrize(
    "act",
    [
        lambda: trainer(""),
        lambda: ByteTokenizer().save(""),
        lambda: load_model(""),
        lambda: load_tokenizer(""),
        lambda: write_token_file("", [[1]], V),
    ],
)
def test_empty_name_is_not_the_working_folder(act, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="a path is ''; name a file or a folder"):
        act()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("true", [True, np.True_, torch.tensor(True)])
def test_truth_values_are_no_numbers(true):
    for name in ("n_steps", "lr", "seed", "clip_norm"):
        with pytest.raises(ValueError, match=f"{name} is .*it must be a (whole )?number"):
            TrainerConfig(**{"n_steps": 3, name: true})
    with pytest.raises(ValueError, match=r"context_length is .*it must be a whole number"):
        window_batches(TEXT, true, 4, seed=0)


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.AdamW, optim.Muon])
def test_optimizers_name_what_is_no_list_of_parameters(make):
    model = nn.Linear(2, 2, bias=False)
    parameters = model.parameters()
    make(parameters, lr=0.1)
    for clip_or_make in (make, optim.clip_global_norm):
        with pytest.raises(
            ValueError, match=r"params is used up or empty: .* can be read only once"
        ):
            clip_or_make(parameters, 1.0)
        with pytest.raises(ValueError, match=r"params is Linear; it must be its parameters\(\)"):
            clip_or_make(model, 1.0)
    if make is not optim.SGD:
        with pytest.raises(ValueError, match=r"betas is \(0\.9,\); it must be two numbers"):
            make(model.parameters(), lr=0.1, betas=(0.9,))
    else:
        with pytest.raises(ValueError, match=r"momentum is 1\.5; it must be at least 0 and below"):
            make(model.parameters(), lr=0.1, momentum=1.5)


def test_one_class_alone_is_a_reward_and_no_task():
    ids, lengths = torch.ones(2, 3, dtype=torch.long), torch.tensor([3, 2])
    targets = torch.zeros(2, dtype=torch.long)
    for model in (TextClassifier(gpt(), 1), SequenceClassifier(BidirectionalEncoder(V, 4, 4), 1)):
        assert model(ids, lengths=lengths)[0].shape == (2, 1)
        with pytest.raises(ValueError, match="the logits score one class; it is always right"):
            model(ids, lengths=lengths, targets=targets)


@pytest.mark.parametrize("edge", [[0, 3], [3, 0]])
def test_documents_with_an_end_of_their_own_are_not_ended_twice(edge):
    with pytest.raises(ValueError, match="document 1 has eos_id, 0, at its edge"):
        pack_documents([[1], edge], 0)


def test_a_batch_of_no_rows_has_no_rows_of_logits():
    model = gpt()
    none = torch.zeros(0, 3, dtype=torch.long)
    assert model(none)[0].shape == (0, 3, V)
    assert model.next_log_probs(none).shape == (0, V)


def test_masks_are_berts(tmp_path):
    with pytest.raises(ValueError, match=r"mask_rate is 0\.3, but a gpt has no masked tokens"):
        Recipe.of("gpt", "stories", "tiny", mask_rate=0.3)
    assert Recipe.of("bert", "stories", "tiny", mask_rate=0.3).mask_rate == 0.3


def test_resuming_where_no_run_is_says_so(tmp_path, capsys):
    words = ["gpt", "--corpus", "stories", "--steps", "2", "--batch-size", "2", "--context-length"]
    main([*words, "8", "--device", "cpu", "--out", str(tmp_path / "typo"), "--resume"])
    assert "typo has no checkpoint to go on from; the run begins" in capsys.readouterr().out
    shutil.rmtree(tmp_path / "typo")


@pytest.mark.parametrize("budget", ["1", "1e300"])
def test_no_run_is_planned_where_the_law_says_nothing(budget, capsys):
    with pytest.raises(SystemExit):
        planning.main(["--flops", budget])
    assert "operations; it must be 1e+12 to 1e+30" in capsys.readouterr().err
