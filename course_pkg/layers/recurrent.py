"""Recurrent cells and stacks of them: Elman, LSTM and GRU, written out and as library kernels.

A cell reads one token and renews its state; a stack unrolls a cell along time, in both directions
if asked, layer upon layer. Weights have torch's layout and gate order, so that the written-out
loop and the library's kernel are two ways to run the same network.
Chapter: recurrent-networks. Elman 1990; Hochreiter & Schmidhuber 1997; Cho et al. 2014.
"""

from collections.abc import Callable
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_pkg.common.checks import probabilities, whole_numbers
from course_pkg.layers.inputs import check_lengths

State = tuple[Tensor, ...]
"""What a cell remembers: `(hidden,)`, or `(hidden, memory)` for an LSTM; each (B, R) for a cell and
(L, B, R) for a stack, where a bidirectional stack counts each layer twice, forward first."""

Step = Callable[[Tensor, State, Tensor, Tensor], State]


class Cell(nn.Module):
    """One time step of a recurrent network; subclasses say how the gates combine.

    Args:
        generator: source of the initial weights, uniform in +-1/sqrt(R) as in torch.
    """

    n_gates: ClassVar[int]
    n_states: ClassVar[int]
    kernel: ClassVar[Callable[..., nn.RNNBase]]
    """The library's module that unrolls the same cell."""

    def __init__(
        self, d_input: int, d_hidden: int, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.weight_ih = nn.Parameter(torch.empty(self.n_gates * d_hidden, d_input))
        self.weight_hh = nn.Parameter(torch.empty(self.n_gates * d_hidden, d_hidden))
        # Two biases where one would do (except in the GRU): the library keeps two.
        self.bias_ih = nn.Parameter(torch.empty(self.n_gates * d_hidden))
        self.bias_hh = nn.Parameter(torch.empty(self.n_gates * d_hidden))
        initialise_uniform(self, d_hidden**-0.5, generator)

    def forward(self, inputs: Float[Tensor, "B E"], state: State) -> State:
        """Return the state after reading one input."""
        projected = F.linear(inputs, self.weight_ih, self.bias_ih)
        return self.step(projected, state, self.weight_hh, self.bias_hh)

    @staticmethod
    def step(
        projected: Float[Tensor, "B GR"],
        state: State,
        weight_hh: Float[Tensor, "GR R"],
        bias_hh: Float[Tensor, " GR"],
    ) -> State:
        """Renew the state.

        Args:
            projected: the input times its weights plus its bias. It does not depend on the state,
                so a stack computes it for all time steps in one multiplication.
        """
        raise NotImplementedError


class ElmanCell(Cell):
    """h' = tanh(W x + U h): Elman 1990; torch calls it RNN."""

    n_gates, n_states, kernel = 1, 1, nn.RNN

    @staticmethod
    def step(projected: Tensor, state: State, weight_hh: Tensor, bias_hh: Tensor) -> State:
        """Mix the input with the previous state and squash."""
        (hidden,) = state
        return (torch.tanh(projected + F.linear(hidden, weight_hh, bias_hh)),)


class LSTMCell(Cell):
    """A memory that gates let in, forget and show: Hochreiter & Schmidhuber 1997, Gers et al. 2000.

    The memory's own path is `memory * forget`: no matrix stands on it, so a gradient travels along
    it as long as the forget gate stays open.
    """

    n_gates, n_states, kernel = 4, 2, nn.LSTM

    @staticmethod
    def step(projected: Tensor, state: State, weight_hh: Tensor, bias_hh: Tensor) -> State:
        """Forget some of the memory, add a candidate, show some of the result."""
        hidden, memory = state
        gates = projected + F.linear(hidden, weight_hh, bias_hh)
        into, forget, candidate, out = gates.chunk(4, dim=-1)  # torch's order
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(into) * torch.tanh(candidate)
        return torch.sigmoid(out) * torch.tanh(memory), memory


class GRUCell(Cell):
    """Interpolates between the old state and a candidate: Cho et al. 2014, in torch's variant.

    The variant resets *after* the multiplication: `reset * (U h + b)` where the paper has
    `U (reset * h)`. Then one multiplication serves all three gates.
    """

    n_gates, n_states, kernel = 3, 1, nn.GRU

    @staticmethod
    def step(projected: Tensor, state: State, weight_hh: Tensor, bias_hh: Tensor) -> State:
        """Move the state from its old value towards the candidate, gate by gate."""
        (hidden,) = state
        reset_in, update_in, candidate_in = projected.chunk(3, dim=-1)
        reset_h, update_h, candidate_h = F.linear(hidden, weight_hh, bias_hh).chunk(3, dim=-1)
        reset = torch.sigmoid(reset_in + reset_h)
        update = torch.sigmoid(update_in + update_h)  # 1 keeps the old state
        candidate = torch.tanh(candidate_in + reset * candidate_h)
        return (candidate + update * (hidden - candidate),)


class RecurrentStack(nn.Module):
    """A cell unrolled over time, `n_layers` deep, in one or both directions.

    The weights live in the library's module, under its names. `fused` says who runs it: the
    library, or the loop below, which makes the same numbers.

    Args:
        dropout: share of each layer's output, except the last layer's, dropped in training.
        fused: True runs the library's kernel. May be switched at any time.
        step: written-out path only: a replacement for `cell.step`, for example the reader's own.
    """

    def __init__(
        self,
        cell: type[Cell],
        d_input: int,
        d_hidden: int,
        n_layers: int = 1,
        *,
        is_bidirectional: bool = False,
        dropout: float = 0.0,
        fused: bool = True,
        step: Step | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        whole_numbers(d_input=d_input, d_hidden=d_hidden, n_layers=n_layers)
        probabilities(dropout=dropout)
        if not (isinstance(cell, type) and issubclass(cell, Cell)):
            raise ValueError(f"cell is {cell!r:.40}; it must be a class such as LSTMCell")
        if step is not None and fused:
            raise ValueError("fused is True, but the library's kernel cannot run a given `step`")
        self.cell, self.step, self.fused = cell, step or cell.step, fused
        self.d_hidden, self.n_layers, self.dropout = d_hidden, n_layers, dropout
        self.directions = ("", "_reverse") if is_bidirectional else ("",)
        self.kernel = cell.kernel(
            d_input,
            d_hidden,
            n_layers,
            batch_first=True,
            # torch warns that one layer leaves no place for dropout; here that is no mistake.
            dropout=dropout if n_layers > 1 else 0.0,
            bidirectional=is_bidirectional,
        )
        initialise_uniform(self.kernel, d_hidden**-0.5, generator)

    @property
    def d_output(self) -> int:
        """Width of the outputs: both directions stand side by side."""
        return self.d_hidden * len(self.directions)

    def initial_state(self, batch_size: int) -> State:
        """Return the blank state, all zeros, on the weights' device and in their dtype."""
        n_rows = self.n_layers * len(self.directions)
        weight = next(self.kernel.parameters())
        blank = weight.new_zeros(n_rows, batch_size, self.d_hidden)
        return (blank,) * self.cell.n_states

    def forward(
        self,
        inputs: Float[Tensor, "B T E"],
        state: State | None = None,
        lengths: Int[Tensor, " B"] | None = None,
    ) -> tuple[Float[Tensor, "B T DR"], State]:
        """Read all inputs.

        Args:
            lengths: number of real positions in each row, at least 1. Positions beyond leave the
                state as it is and have zeros as outputs; the backward direction starts before them.

        Returns:
            outputs: the top layer's hidden state at each position.
            state: after the last real position, in each layer and direction.
        """
        if lengths is not None:
            check_lengths(lengths, inputs.shape)
        state = self.initial_state(len(inputs)) if state is None else state
        run = self._run_kernel if self.fused else self._run_loop
        return run(inputs, state, lengths)

    def _run_kernel(
        self, inputs: Tensor, state: State, lengths: Tensor | None
    ) -> tuple[Tensor, State]:
        given = state if self.cell.n_states > 1 else state[0]  # torch has no tuples of one
        if lengths is None:
            outputs, after = self.kernel(inputs, given)
        else:
            packed = pack_padded_sequence(
                inputs, lengths.cpu(), batch_first=True, enforce_sorted=False
            )
            packed_outputs, after = self.kernel(packed, given)
            outputs, _ = pad_packed_sequence(
                packed_outputs, batch_first=True, total_length=inputs.shape[1]
            )
        return outputs, after if self.cell.n_states > 1 else (after,)

    def _run_loop(
        self, inputs: Tensor, state: State, lengths: Tensor | None
    ) -> tuple[Tensor, State]:
        outputs = inputs.transpose(0, 1)  # (T, B, E)
        is_real = None
        if lengths is not None:
            positions = torch.arange(inputs.shape[1], device=inputs.device)
            is_real = positions[:, None] < lengths.to(inputs.device)  # (T, B)
        after: list[State] = []
        for layer in range(self.n_layers):
            if layer > 0:
                outputs = F.dropout(outputs, self.dropout, self.training)
            halves = []
            for direction in self.directions:
                before = tuple(part[len(after)] for part in state)
                half, last = self._unroll(
                    outputs, before, is_real, f"l{layer}{direction}", bool(direction)
                )
                halves.append(half)
                after.append(last)
            outputs = torch.cat(halves, dim=-1)
        return outputs.transpose(0, 1), tuple(
            torch.stack(part) for part in zip(*after, strict=True)
        )

    def _unroll(
        self,
        inputs: Float[Tensor, "T B E"],
        state: State,
        is_real: Bool[Tensor, "T B"] | None,
        name: str,
        is_backward: bool,
    ) -> tuple[Float[Tensor, "T B R"], State]:
        """Walk one layer in one direction; `name` is the library's suffix for its weights."""
        weight_ih, weight_hh, bias_ih, bias_hh = (
            getattr(self.kernel, f"{weight}_{name}")
            for weight in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        projected = F.linear(inputs, weight_ih, bias_ih).unbind(0)  # all steps at once
        times = range(len(projected))
        outputs = []
        for t in reversed(times) if is_backward else times:
            renewed = self.step(projected[t], state, weight_hh, bias_hh)
            if is_real is None:
                state = renewed
                outputs.append(state[0])
            else:
                real = is_real[t, :, None]
                state = tuple(
                    torch.where(real, new, old) for new, old in zip(renewed, state, strict=True)
                )
                outputs.append(state[0] * real)
        return torch.stack(outputs[::-1] if is_backward else outputs), state


def initialise_uniform(
    module: nn.Module, bound: float, generator: torch.Generator | None = None
) -> None:
    """Draw every parameter of `module` uniformly from [-bound, bound]."""
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=generator)


@torch.no_grad()
def set_spectral_radius(weight: Float[Tensor, "R R"], radius: float) -> None:
    """Scale a recurrent matrix in place so that its largest eigenvalue has the given modulus.

    In a linear network gradients vanish below 1 and explode above it as the distance grows:
    Pascanu et al. 2013, section 2.1.
    """
    if radius < 0:
        raise ValueError(f"radius is {radius}; it must be at least 0")
    weight.mul_(radius / torch.linalg.eigvals(weight).abs().max())
