"""The package's versions of what problem set 3 asks for.

Students write functions of plain tensors; the package has modules that own their weights. So each
reference builds the package's module, without storage where that is possible, and calls it with
the weights that it was given: gradients reach them as they reach a student's arguments.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, nn
from torch.func import functional_call

from course_pkg.layers.recurrent import Cell, ElmanCell, LSTMCell, State
from course_pkg.models import IGNORE
from course_pkg.models import recurrent as models
from course_pkg.models.window import FixedWindowLM
from course_pkg.text.batches import stream_batches
from course_pkg.training import objectives, optim

Step = Callable[[Tensor, State], State]
Loss = Callable[[Tensor, Tensor], Tensor]


def stream_pieces(ids: Tensor, batch_size: int, length: int) -> list[tuple[Tensor, Tensor]]:
    """Cut with the package, after dropping what would make its streams unequal."""
    n_steps = (len(ids) - 1) // batch_size
    batches = stream_batches(ids[: n_steps * batch_size + 1], length, batch_size)
    return [(batch["ids"], batch["targets"]) for batch in batches]


def window_logits(ids: Tensor, window: int, eos_id: int, weights: Mapping[str, Tensor]) -> Tensor:
    """Run the package's model on the given weights."""
    vocab_size, d_embedding = weights["embedding"].shape
    with torch.device("meta"):
        model = FixedWindowLM(
            vocab_size, window, d_embedding, len(weights["hidden"]), eos_id=eos_id
        )
    given = {
        "embedding.weight": weights["embedding"],
        "hidden.weight": weights["hidden"],
        "hidden.bias": weights["hidden_bias"],
        "output.weight": weights["output"],
        "output.bias": weights["output_bias"],
    }
    logits: Tensor = functional_call(model, given, (ids,))[0]
    return logits


def cross_entropy(logits: Tensor, targets: Tensor, ignore_index: int) -> Tensor:
    """Ask the package, in a thread of its own.

    The probes watch which functions of torch an answer calls, in their own thread. The package may
    call some that students are to write out.
    """
    with ThreadPoolExecutor(1) as other_thread:
        return other_thread.submit(_cross_entropy, logits, targets, ignore_index).result()


def _cross_entropy(logits: Tensor, targets: Tensor, ignore_index: int) -> Tensor:
    return objectives.cross_entropy(logits, targets.where(targets != ignore_index, IGNORE))


def cross_entropy_gradient(logits: Tensor, targets: Tensor, ignore_index: int) -> Tensor:
    """Differentiate the package's loss, also where the probe has switched gradients off."""
    with torch.inference_mode(False), torch.enable_grad():
        leaf = logits.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(_cross_entropy(leaf, targets.clone(), ignore_index), leaf)
    return gradient


def _step(cell: type[Cell], inputs: Tensor, state: State, weights: Sequence[Tensor]) -> State:
    with torch.device("meta"):
        module = cell(inputs.shape[1], state[0].shape[1])
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    after: State = functional_call(module, dict(zip(names, weights, strict=True)), (inputs, state))
    return after


def elman_step(
    inputs: Tensor,
    hidden: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
) -> Tensor:
    """Run the package's cell on the given weights."""
    return _step(ElmanCell, inputs, (hidden,), (weight_ih, weight_hh, bias_ih, bias_hh))[0]


def lstm_step(
    inputs: Tensor,
    state: State,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
) -> State:
    """Run the package's cell on the given weights."""
    return _step(LSTMCell, inputs, state, (weight_ih, weight_hh, bias_ih, bias_hh))


class _Given(models.RecurrentLM):
    """A model of the package that steps, and measures its loss, as it is told."""

    def __init__(self, step: Step, loss_of: Loss, n_parts: int, d_hidden: int) -> None:
        cell = ElmanCell if n_parts == 1 else LSTMCell
        super().__init__(1, 1, d_hidden, cell=cell)
        self.given_step, self.loss_of = step, loss_of

    def forward_from(
        self, state: State | None, ids: Tensor, targets: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None, State]:
        """Do what the package's model does; its states have a dimension more, for the layers."""
        assert state is not None and targets is not None
        plain = tuple(part[0] for part in state)
        outputs = []
        for position in ids.unbind(1):
            plain = self.given_step(position, plain)
            outputs.append(plain[0])
        hidden = torch.stack(outputs, dim=1)
        return hidden, self.loss_of(hidden, targets), tuple(part[None] for part in plain)


def truncated_bptt(
    step: Step,
    loss_of: Loss,
    state: State,
    pieces: Iterable[tuple[Tensor, Tensor]],
    update: Callable[[], None],
) -> tuple[list[float], State]:
    """Let the package carry the state and cut its graph."""
    batch_size, d_hidden = state[0].shape
    with torch.random.fork_rng(devices=[]):  # making a model draws weights, which nobody uses
        model = _Given(step, loss_of, len(state), d_hidden)
    reader = models.TruncatedBPTT(model, batch_size).to(state[0].dtype)
    for name, part in zip(reader.names, state, strict=True):
        getattr(reader, name).copy_(part[None])
    losses = []
    for ids, targets in pieces:
        _, loss = reader(ids, targets)
        loss.backward()
        update()
        losses.append(loss.item())
    return losses, tuple(getattr(reader, name)[0] for name in reader.names)


def clip_global_norm(gradients: Sequence[Tensor | None], max_norm: float) -> float:
    """Clip with the package, which finds gradients at their parameters."""
    params = []
    for gradient in gradients:
        if gradient is not None:
            params.append(nn.Parameter(torch.empty_like(gradient)))
            params[-1].grad = gradient
    return float(optim.clip_global_norm(params, max_norm))
