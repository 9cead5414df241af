"""What the checks of problem set 3 ask of an answer.

Probes travel into the sandbox as text, so each stands alone: it imports what it needs and reads no
global. Six tasks are functions of tensors and share their probes: `arguments` are theirs, in order,
and `forbidden` names the functions of torch that the task asks to write out. An answer that calls
one is told its name instead of a value. `take` picks one of several results.
"""


def call(implementation, inputs):
    """Return the result."""
    import torch

    used = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            used.append(getattr(function, "__name__", ""))
            return function(*args, **(kwargs or {}))

    with Watch():
        result = implementation(*inputs["arguments"])
    forbidden = [name for name in used if name in inputs["forbidden"]]
    if forbidden:
        return forbidden[0]
    if inputs["take"] is not None:
        return result[inputs["take"]]
    return tuple(result) if isinstance(result, tuple) else result


def differentiate(implementation, inputs):
    """Return the gradient of a weighted sum of the results, for every argument that has one."""
    import torch

    leaves, used = [], []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            used.append(getattr(function, "__name__", ""))
            return function(*args, **(kwargs or {}))

    def prepare(argument):
        if isinstance(argument, dict):
            return {key: prepare(value) for key, value in argument.items()}
        if isinstance(argument, tuple):
            return tuple(prepare(part) for part in argument)
        if isinstance(argument, torch.Tensor) and argument.is_floating_point():
            leaves.append(argument.clone().requires_grad_())
            return leaves[-1]
        return argument

    arguments = [prepare(argument) for argument in inputs["arguments"]]
    with Watch():
        result = implementation(*arguments)
    forbidden = [name for name in used if name in inputs["forbidden"]]
    if forbidden:
        return forbidden[0]
    parts = result if isinstance(result, tuple) else (result,)
    total = sum(
        (part * torch.linspace(0.5, 1.5, part.numel(), dtype=part.dtype).view_as(part)).sum()
        for part in parts
    )
    if not total.requires_grad:
        return "no gradient"
    return list(torch.autograd.grad(total, leaves, materialize_grads=True))


def call_elsewhere(implementation, inputs):
    """Call where torch makes tensors of another dtype; return what else may have changed too."""
    import torch

    before = torch.get_default_dtype()
    other = torch.float32 if inputs["dtype"] == "float64" else torch.float64
    arguments = inputs["arguments"]
    state = torch.get_rng_state()
    torch.set_default_dtype(other)
    try:
        result = implementation(*arguments)
        kept = torch.get_default_dtype() == other and torch.is_grad_enabled()
    finally:
        torch.set_default_dtype(before)
    untouched = torch.equal(state, torch.get_rng_state())
    result = tuple(result) if isinstance(result, tuple) else result  # a named one is right too
    return result, arguments, kept, untouched


def cut_inputs(implementation, inputs):
    """Return what is read, piece by piece."""
    return [piece[0] for piece in implementation(*inputs["arguments"])]


def cut_targets(implementation, inputs):
    """Return what is predicted, piece by piece."""
    return [piece[1] for piece in implementation(*inputs["arguments"])]


def cut(implementation, inputs):
    """Return all pieces."""
    return [tuple(piece) for piece in implementation(*inputs["arguments"])]


def cut_and_keep(implementation, inputs):
    """Return all pieces after a second call, and the arguments after both."""
    import torch

    ids, batch_size, length = inputs["arguments"]
    state = torch.get_rng_state()
    first = implementation(ids, batch_size, length)
    implementation(ids.flip(0), 1, length + 1)
    return [tuple(piece) for piece in first], ids, torch.equal(state, torch.get_rng_state())


def score_full_windows(implementation, inputs):
    """Return the logits of all positions that have a whole window before them."""
    return implementation(*inputs["arguments"])[:, inputs["arguments"][1] - 1 :]


def score_starts(implementation, inputs):
    """Return the logits of the positions before the first whole window."""
    return implementation(*inputs["arguments"])[:, : inputs["arguments"][1] - 1]


def derive(implementation, inputs):
    """Return a gradient made without autograd, which does not run here, nor torch.func."""
    import torch

    used = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            used.append(getattr(function, "__name__", ""))
            if any(repr(arg).startswith("GradTracking") for arg in args):
                used.append("autograd")
            return function(*args, **(kwargs or {}))

    with torch.inference_mode(), Watch():
        result = implementation(*inputs["arguments"]).clone()
    forbidden = [name for name in used if name in ("cross_entropy", "nll_loss", "autograd")]
    return forbidden[0] if forbidden else result


def derive_elsewhere(implementation, inputs):
    """Do as `derive` where torch makes tensors of another dtype; look at everything else too."""
    import torch

    before = torch.get_default_dtype()
    other = torch.float32 if inputs["dtype"] == "float64" else torch.float64
    state = torch.get_rng_state()
    torch.set_default_dtype(other)
    try:
        with torch.inference_mode():
            result = implementation(*inputs["arguments"]).clone()
    finally:
        torch.set_default_dtype(before)
    return result, inputs["arguments"], torch.equal(state, torch.get_rng_state())


def train(implementation, inputs):
    """Train a tiny network on a stream; return the losses and the gradients before each update."""
    import torch

    state, pieces = inputs["state"], inputs["pieces"]
    params = [weight.requires_grad_() for weight in inputs["weights"]]
    vectors, recurrent, output = params
    seen = []

    def step(ids, state):
        mixed = torch.tanh(vectors[ids] + state[0] @ recurrent)
        if len(state) == 1:
            return (mixed,)
        memory = 0.75 * state[1] + mixed
        return torch.sin(memory), memory

    def loss_of(hidden, targets):
        logits = hidden @ output
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def update():
        seen.append([None if param.grad is None else param.grad.clone() for param in params])
        with torch.no_grad():
            for param in params:
                if inputs["rate"] and param.grad is not None:
                    param -= inputs["rate"] * param.grad
                param.grad = None

    def plain(losses):
        return [float(loss.detach() if torch.is_tensor(loss) else loss) for loss in losses]

    losses, after = implementation(step, loss_of, state, pieces, update)
    losses = plain(losses)
    if inputs["take"] == "training":
        return losses, seen
    if inputs["take"] == "state":
        return tuple(part.detach() for part in after), [part.requires_grad for part in after]
    # The weights have not moved if the rate is 0, so a second pass must repeat the first.
    again, _ = implementation(step, loss_of, state, pieces, update)
    return losses, plain(again), state, pieces


def measure_norm(implementation, inputs):
    """Return what is returned, as a float."""
    return float(implementation(inputs["gradients"], inputs["max_norm"]))


def clip(implementation, inputs):
    """Return what became of the tensors that were handed in."""
    handed_in = list(inputs["gradients"])
    implementation(inputs["gradients"], inputs["max_norm"])
    return handed_in


def clip_and_measure(implementation, inputs):
    """Return the norm, what became of the tensors, and where the list has none."""
    gradients = inputs["gradients"]
    handed_in = list(gradients)
    norm = float(implementation(gradients, inputs["max_norm"]))
    return norm, handed_in, [gradient is None for gradient in gradients]


def clip_elsewhere(implementation, inputs):
    """Return norm and tensors, and whether the list still holds the same ones; other dtype."""
    import torch

    gradients = inputs["gradients"]
    handed_in = list(gradients)
    before = torch.get_default_dtype()
    other = torch.float32 if inputs["dtype"] == "float64" else torch.float64
    state = torch.get_rng_state()
    torch.set_default_dtype(other)
    try:
        norm = float(implementation(gradients, inputs["max_norm"]))
    finally:
        torch.set_default_dtype(before)
    same = len(gradients) == len(handed_in) and all(
        now is then for now, then in zip(gradients, handed_in, strict=True)
    )
    return (norm, handed_in), same, torch.equal(state, torch.get_rng_state())
