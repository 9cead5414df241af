"""How long a gradient stays as it goes back through time.

Chapter: recurrent networks.
"""

from collections.abc import Sequence

import numpy as np

from course_pkg.plots import Numbers
from course_pkg.widgets.widget import Widget


def gradient_through_time(
    weight: Numbers,
    projected: Numbers,
    gradient: Numbers,
    gates: Numbers,
    projected_gates: Numbers,
    *,
    radii: Sequence[float] = (0.8, 1.0, 1.2),
    biases: Sequence[float] = (0.0, 1.0, 4.0),
    alt: str,
) -> Widget:
    """Let the reader turn a recurrent network's matrix and see how long gradients stay.

    The page runs the cell forwards and its gradient backwards: h_t = f(a_t + r U h_{t-1}), with r
    from a slider and f the identity or tanh, or an LSTM whose forget gates get a bias from the
    slider. A distance's number is the length of the gradient at all that is carried, which for an
    LSTM is the hidden state and the memory.

    Args:
        weight: U, R x R, of spectral radius 1.
        projected: a_t, T x R: the inputs after their own weights.
        gradient: of the loss with respect to the last hidden state, R numbers.
        gates: the LSTM's recurrent weights, 4R x R, in torch's order: input, forget, candidate,
            output.
        projected_gates: its inputs after their own weights, T x 4R.
        radii, biases: what the table shows.

    Raises:
        ValueError: shapes that do not fit, or a spectral radius other than 1.
    """
    matrix, inputs, last, lstm, lstm_inputs = (
        np.asarray(x, dtype=float) for x in (weight, projected, gradient, gates, projected_gates)
    )
    R, T = len(last), len(inputs)
    for name, array, shape in (
        ("weight", matrix, (R, R)),
        ("projected", inputs, (T, R)),
        ("gates", lstm, (4 * R, R)),
        ("projected_gates", lstm_inputs, (T, 4 * R)),
    ):
        if array.shape != shape:
            raise ValueError(
                f"{name} has shape {array.shape}; a gradient of {R} numbers "
                f"and {T} inputs need {shape}"
            )
    radius = float(np.abs(np.linalg.eigvals(matrix)).max())
    if abs(radius - 1) > 1e-6:
        raise ValueError(f"weight has the spectral radius {radius}; it must be 1")
    columns = [
        (f"{name}, radius {r:g}", _gradient_norms(r * matrix, inputs, last, squash))
        for name, squash in (("linear", False), ("tanh", True))
        for r in radii
    ]
    columns += [(f"LSTM, bias {b:g}", _lstm_norms(lstm, lstm_inputs, last, b)) for b in biases]
    return Widget(
        "lm-gradient",
        {
            "weight": matrix.tolist(),
            "projected": inputs.tolist(),
            "gradient": last.tolist(),
            "gates": lstm.tolist(),
            "projected_gates": lstm_inputs.tolist(),
        },
        alt,
        ("steps back", *(name for name, _ in columns)),
        [(str(k), *(f"{norms[k]:.2g}" for _, norms in columns)) for k in range(0, T, 5)],
    )


def _gradient_norms(
    weight: np.ndarray, projected: np.ndarray, gradient: np.ndarray, squash: bool
) -> list[float]:
    """Return the gradient's length at the last state, one step before it, and so on."""
    hidden, slopes = np.zeros(len(gradient)), []
    for inputs in projected:
        hidden = weight @ hidden + inputs
        if squash:
            hidden = np.tanh(hidden)
        slopes.append(1 - hidden**2 if squash else np.ones_like(hidden))
    norms = [float(np.linalg.norm(gradient))]
    for slope in slopes[:0:-1]:
        gradient = (gradient * slope) @ weight
        norms.append(float(np.linalg.norm(gradient)))
    return norms


def _lstm_norms(
    weight: np.ndarray, projected: np.ndarray, gradient: np.ndarray, forget_bias: float
) -> list[float]:
    """Return the length of an LSTM's gradient at (hidden, memory), from the last state back."""
    hidden = memory = np.zeros(len(gradient))
    steps = []
    for inputs in projected:
        before = memory
        i, f, g, o = np.split(weight @ hidden + inputs, 4)
        i, f, o = (1 / (1 + np.exp(-a)) for a in (i, f + forget_bias, o))
        g = np.tanh(g)
        memory = f * before + i * g
        hidden = o * np.tanh(memory)
        steps.append((i, f, g, o, before, np.tanh(memory)))
    at_hidden, at_memory = gradient, np.zeros_like(gradient)
    norms = [float(np.linalg.norm(gradient))]
    for i, f, g, o, before, shown in steps[:0:-1]:
        inside = at_memory + at_hidden * o * (1 - shown**2)
        at_gates = (
            inside * g * i * (1 - i),
            inside * before * f * (1 - f),
            inside * i * (1 - g**2),
            at_hidden * shown * o * (1 - o),
        )
        at_hidden, at_memory = np.concatenate(at_gates) @ weight, inside * f
        norms.append(float(np.hypot(np.linalg.norm(at_hidden), np.linalg.norm(at_memory))))
    return norms
