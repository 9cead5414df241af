"""Optimizers and clipping against torch and against the papers' formulas."""

import math

import pytest
import torch
from torch import nn

from course_pkg.training import optim
from course_pkg.training.settings import TrainerConfig

N_UPDATES = 7


def quadratic_steps(make, shapes=((3, 5), (5,), (2, 3, 7))):
    """Run a few updates on a bumpy loss; return every parameter after every update."""
    generator = torch.Generator().manual_seed(3)
    params = [
        nn.Parameter(torch.randn(s, generator=generator, dtype=torch.float64)) for s in shapes
    ]
    optimizer = make(params)
    trace = []
    for update in range(N_UPDATES):
        optimizer.zero_grad()
        sum(((p * (update + 1)).sin() ** 2).sum() for p in params).backward()
        optimizer.step()
        trace += [p.detach().clone() for p in params]
    return trace


PAIRS = {
    "sgd": (lambda p: optim.SGD(p, 0.1), lambda p: torch.optim.SGD(p, 0.1)),
    "momentum and decay": (
        lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.3),
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.3),
    ),
    "adam": (
        lambda p: optim.Adam(p, 0.01, betas=(0.8, 0.97), eps=1e-3),
        lambda p: torch.optim.Adam(p, 0.01, betas=(0.8, 0.97), eps=1e-3),
    ),
    "adam with decay": (
        lambda p: optim.Adam(p, 0.01, weight_decay=0.3),
        lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.3),
    ),
    "adamw": (
        lambda p: optim.AdamW(p, 0.01, betas=(0.7, 0.9), weight_decay=0.3),
        lambda p: torch.optim.AdamW(p, 0.01, betas=(0.7, 0.9), weight_decay=0.3),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_optimizer_each_update_matches_torch(name):
    ours, theirs = PAIRS[name]
    for our, their in zip(quadratic_steps(ours), quadratic_steps(theirs), strict=True):
        # 1e-12: float64 rounding over seven updates, which torch orders differently.
        torch.testing.assert_close(our, their, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [n for n, kind in optim.OPTIMIZERS.items() if kind.twin])
def test_optimizer_fused_equals_readable_matches_torch(name):
    def run(fused):
        torch.manual_seed(5)
        model = nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.Linear(5, 2)).double()
        optimizer = optim.make_optimizer(model, name, lr=0.05, fused=fused)
        inputs = torch.arange(12, dtype=torch.float64).view(4, 3) / 7
        for _ in range(N_UPDATES):
            optimizer.zero_grad()
            model(inputs).square().sum().backward()
            optimizer.step()
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    # 1e-9: the fused kernel multiplies in another order; Adam's division magnifies it a little.
    torch.testing.assert_close(run(True), run(False), rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", [(6, 10), (10, 6), (5, 5)])
def test_muon_orthogonalizes_matrices_as_torch_and_updates_the_rest_by_adamw(shape):
    def run(make):
        generator = torch.Generator().manual_seed(4)
        weights = [nn.Parameter(torch.randn(s, generator=generator)) for s in (shape, (7,))]
        optimizers, trace = make(weights[:1], weights[1:]), []
        for update in range(N_UPDATES):
            for weight in weights:
                weight.grad = (weight * (update + 1)).sin().detach()
            for optimizer in optimizers:
                optimizer.step()
            trace += [weight.detach().clone() for weight in weights]
        return trace

    def ours(matrices, vectors):
        groups = [{"params": matrices}, {"params": vectors, "is_orthogonal": False}]
        return [optim.Muon(groups, 0.05, momentum=0.8, betas=(0.9, 0.95), weight_decay=0.3)]

    def theirs(matrices, vectors):
        muon = torch.optim.Muon(matrices, 0.05, 0.3, momentum=0.8, adjust_lr_fn="match_rms_adamw")
        return [muon, torch.optim.AdamW(vectors, 0.05, betas=(0.9, 0.95), weight_decay=0.3)]

    for our, their in zip(run(ours), run(theirs), strict=True):
        # A bfloat16 product rounds at 2^-8, and a step has entries of about 0.2 lr = 0.01.
        torch.testing.assert_close(our, their, rtol=0, atol=1e-4)


def test_orthogonalized_matrix_keeps_its_singular_vectors_and_evens_out_their_values():
    generator = torch.Generator().manual_seed(8)
    u, _ = torch.linalg.qr(torch.randn(9, 4, generator=generator))
    v, _ = torch.linalg.qr(torch.randn(4, 4, generator=generator))
    matrix = u @ torch.diag(torch.tensor([8.0, 2.0, 1.0, 0.5])) @ v.T
    for given in (matrix, matrix.T):
        result = optim.orthogonalized(given).float()
        assert result.shape == given.shape
        values = torch.linalg.svdvals(result)
        # Jordan et al. 2024: between about 0.7 and 1.2; bfloat16 adds a hundredth.
        assert values.min() > 0.67 and values.max() < 1.22
        inner = (u.T @ (result if given is matrix else result.T) @ v).abs()
        assert (inner - inner.diagonal().diag()).max() < 0.05


def test_muon_hand_worked_step_on_one_number():
    # A 1 x 1 matrix is its own direction: s = 1, and five rounds of the polynomial from there.
    weight = nn.Parameter(torch.tensor([[2.0]]))
    weight.grad = torch.tensor([[-0.3]])
    s = 1.0
    for _ in range(5):
        s = 3.4445 * s - 4.775 * s**3 + 2.0315 * s**5
    optim.Muon([weight], 0.1, weight_decay=0.5).step()
    expected = 2.0 * (1 - 0.1 * 0.5) + 0.1 * 0.2 * s
    assert weight.item() == pytest.approx(expected, abs=3e-4)  # bfloat16


def test_muon_groups_take_the_matrices_of_linear_layers_and_no_embedding():
    model = nn.ModuleDict({"embed": nn.Embedding(7, 3), "norm": nn.LayerNorm(3)})
    model["hidden"] = nn.Linear(3, 5)
    model["out"] = nn.Linear(3, 7)
    model["out"].weight = model["embed"].weight
    orthogonal, tables, vectors = optim.muon_groups(model, 0.1)
    assert [p.shape for p in orthogonal["params"]] == [(5, 3)]
    assert [p.shape for p in tables["params"]] == [(7, 3)]
    assert sorted(p.shape for p in vectors["params"]) == [(3,), (3,), (5,), (7,)]
    decays = [(g["weight_decay"], g["is_orthogonal"]) for g in (orthogonal, tables, vectors)]
    assert decays == [(0.1, True), (0.1, False), (0.0, False)]
    optimizer = optim.make_optimizer(model, "muon", lr=0.1)
    assert isinstance(optimizer, optim.Muon)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    model["out"](model["norm"](model["embed"](torch.tensor([1])))).sum().backward()
    optimizer.step()
    changed = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
    assert changed == {
        "embed.weight",
        "norm.weight",
        "norm.bias",
        "out.bias",
    }  # hidden: no gradient


@pytest.mark.parametrize("name", optim.OPTIMIZERS)
@pytest.mark.parametrize("fused", [False, True])
def test_only_decoupled_decay_acts_unless_asked(name, fused):
    model = nn.Linear(3, 2)
    expected = 0.0 if name in ("sgd", "adam") else 0.1  # in these two it is a penalty
    config = TrainerConfig(n_steps=1, optimizer=name, fused=fused)
    optimizer = optim.make_optimizer(model, name, lr=0.1, fused=fused)
    for made in (optimizer, config.make_optimizer(model)):
        assert {group["weight_decay"] for group in made.param_groups} == {expected, 0.0}
    asked = optim.make_optimizer(model, name, lr=0.1, weight_decay=0.3, fused=fused)
    assert asked.param_groups[0]["weight_decay"] == 0.3


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", optim.OPTIMIZERS)
class TestEveryOptimizer:
    @staticmethod
    def train(name, fused, n_before, n_after, lr=0.01):
        """Fit a small model, its optimizer saved and loaded into a new one on the way."""
        torch.manual_seed(2)
        model = nn.Sequential(nn.Embedding(7, 4), nn.LayerNorm(4), nn.Linear(4, 3))
        optimizer = optim.make_optimizer(model, name, lr=lr, fused=fused)
        for update in range(n_before + n_after):
            if update == n_before:
                saved = optimizer.state_dict()
                optimizer = optim.make_optimizer(model, name, lr=70 * lr, fused=fused)
                optimizer.load_state_dict(saved)
            loss = nn.functional.cross_entropy(model(torch.arange(7)), torch.arange(7) % 3)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item(), torch.cat([p.detach().flatten() for p in model.parameters()])

    def test_optimizer_goes_down(self, name, fused):
        first, _ = self.train(name, fused, 1, 0)
        last, _ = self.train(name, fused, 30, 0)
        assert last < 0.9 * first

    def test_optimizer_state_round_trips(self, name, fused):
        assert torch.equal(self.train(name, fused, 3, 4)[1], self.train(name, fused, 7, 0)[1])

    def test_optimizer_stands_still_at_rate_zero(self, name, fused):
        assert torch.equal(
            self.train(name, fused, 4, 0, lr=0.0)[1], self.train(name, fused, 1, 0, lr=0.0)[1]
        )


def test_decay_groups_leave_vectors_and_frozen_alone_and_count_a_tied_matrix_once():
    model = nn.ModuleDict({"embed": nn.Embedding(7, 3), "norm": nn.LayerNorm(3)})
    model["out"] = nn.Linear(3, 7)
    model["out"].weight = model["embed"].weight
    model["frozen"] = nn.Linear(3, 2).requires_grad_(False)
    decaying, rest = optim.decay_groups(model, 0.1)
    assert [p.shape for p in decaying["params"]] == [(7, 3)]
    assert sorted(p.shape for p in rest["params"]) == [(3,), (3,), (7,)]
    assert (decaying["weight_decay"], rest["weight_decay"]) == (0.1, 0.0)


@pytest.mark.parametrize("max_norm", [0.5, 3.0, 1e9])
def test_clip_global_norm_matches_torch(max_norm):
    def gradients():
        generator = torch.Generator().manual_seed(11)
        params = [nn.Parameter(torch.zeros(s, dtype=torch.float64)) for s in ((3, 5), (2,))]
        for p in params:
            p.grad = torch.randn(p.shape, generator=generator, dtype=torch.float64)
        return [*params, nn.Parameter(torch.zeros(4))]  # the last has no gradient

    ours, theirs = gradients(), gradients()
    norm = optim.clip_global_norm(ours, max_norm)
    their_norm = nn.utils.clip_grad_norm_(theirs, max_norm)
    torch.testing.assert_close(norm, their_norm, rtol=1e-12, atol=0)
    for our, their in zip(ours[:-1], theirs[:-1], strict=True):
        # 1e-5: torch divides by (norm + 1e-6), so that its result is a hair shorter.
        torch.testing.assert_close(our.grad, their.grad, rtol=1e-5, atol=0)


def test_clip_global_norm_never_enlarges_and_reports_a_gradient_that_is_not_finite():
    short = nn.Parameter(torch.zeros(2, dtype=torch.float64))
    short.grad = torch.tensor([0.3, 0.4], dtype=torch.float64)
    assert optim.clip_global_norm([short], max_norm=1.0).item() == pytest.approx(0.5, abs=1e-15)
    assert short.grad.tolist() == [0.3, 0.4]

    broken = nn.Parameter(torch.zeros(2))
    broken.grad = torch.tensor([math.inf, 1.0])
    assert not optim.clip_global_norm([broken, short], max_norm=0.1).isfinite()
    assert short.grad.tolist() == [0.3, 0.4]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optim.SGD([nn.Parameter(torch.zeros(1))], lr=-0.5), "lr is -0.5"),
        (lambda: optim.Adam([nn.Parameter(torch.zeros(1))], 0.1, betas=(0.9, 1.0)), r"0\.9, 1\.0"),
        (lambda: optim.make_optimizer(nn.Linear(1, 1), "lion", lr=0.1), "'lion'"),
        (lambda: optim.Muon([nn.Parameter(torch.zeros(1, 1))], 0.1, 1.0), r"momentum is 1\.0"),
        (lambda: optim.Muon([nn.Parameter(torch.zeros(3))], 0.1), r"shape \(3,\); only a matrix"),
        (lambda: optim.clip_global_norm([], max_norm=0.0), "max_norm is 0.0"),
    ],
)
def test_settings_reject_what_cannot_work(make, message):
    with pytest.raises(ValueError, match=message):
        make()
