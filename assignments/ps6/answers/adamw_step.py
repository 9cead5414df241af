# %% right: The running means are interpolations.
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    new_mean = torch.lerp(mean, gradient, 1 - betas[0])
    new_square = torch.lerp(mean_square, gradient * gradient, 1 - betas[1])
    root = (new_square / (1 - betas[1] ** step)) ** 0.5
    quotient = new_mean / (1 - betas[0] ** step) / (root + eps)
    return weight - lr * quotient - lr * decay * weight, new_mean, new_square


# %% right: Shrinks the weights, and then makes the step of Adam, as torch does.
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    mean = mean.clone().mul_(betas[0]).add_(gradient, alpha=1 - betas[0])
    square = mean_square.clone().mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    divisor = square.sqrt() / (1 - betas[1] ** step) ** 0.5 + eps
    shrunk = weight * (1 - lr * decay)
    return torch.addcdiv(shrunk, mean, divisor, value=-lr / (1 - betas[0] ** step)), mean, square


# %% right: Both corrections go into the rate, and eps is scaled with them.
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    first, second = (1 - beta**step for beta in betas)
    m = betas[0] * mean + (1.0 - betas[0]) * gradient
    v = betas[1] * mean_square + (1.0 - betas[1]) * gradient.pow(2)
    rate = lr * second**0.5 / first
    return weight - rate * m / (v.sqrt() + eps * second**0.5) - lr * decay * weight, m, v


# %% right: Computes in float64 and comes back.
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    w, g, m, v = (x.double() for x in (weight, gradient, mean, mean_square))
    m, v = m + (1 - betas[0]) * (g - m), v + (1 - betas[1]) * (g * g - v)
    hat_m, hat_v = m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)
    w = w - lr * (hat_m / (torch.sqrt(hat_v) + eps) + decay * w)
    return tuple(x.to(weight.dtype) for x in (w, m, v))


# %% right: Both running means are one tensor.
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    shares = torch.tensor(betas, dtype=torch.float64).reshape(2, *[1] * weight.dim())
    news = torch.stack([gradient, gradient.square()])
    moments = shares * torch.stack([mean, mean_square]) + (1 - shares) * news
    hat_m, hat_v = (moments / (1 - shares**step)).to(weight.dtype)
    moments = moments.to(weight.dtype)
    update = torch.add(hat_m / torch.add(hat_v.sqrt(), eps), weight, alpha=decay)
    return torch.sub(weight, update, alpha=lr), moments[0].clone(), moments[1].clone()


# %% right: Multiplies by reciprocals, and pulls the factor of the weight out.
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    (b1, b2), t = betas, step
    m, v = gradient * (1 - b1) + mean * b1, torch.square(gradient) * (1 - b2) + mean_square * b2
    denominator = (v * (1 / (1 - b2**t))).sqrt().add(eps)
    move = m.mul(1 / (1 - b1**t)).mul(denominator.reciprocal())
    return (1 - lr * decay) * weight - lr * move, m, v


# %% right: plain
# the formulas line by line.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    beta1, beta2 = betas
    mean = beta1 * mean + (1 - beta1) * gradient
    mean_square = beta2 * mean_square + (1 - beta2) * gradient**2
    m_hat = mean / (1 - beta1**step)
    v_hat = mean_square / (1 - beta2**step)
    return weight - lr * (m_hat / (v_hat.sqrt() + eps) + decay * weight), mean, mean_square


# %% right: fused operations
# lerp, addcmul, addcdiv; the weight shrinks first.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    beta1, beta2 = betas
    m = mean.lerp(gradient, 1 - beta1)
    v = (mean_square * beta2).addcmul(gradient, gradient, value=1 - beta2)
    divisor = v.sqrt() / (1 - beta2**step) ** 0.5 + eps
    w = (weight * (1 - lr * decay)).addcdiv(m, divisor, value=-lr / (1 - beta1**step))
    return w, m, v


# %% right: stacked moments
# both running means in one stacked tensor.

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    def column(numbers):
        return torch.tensor(numbers, dtype=weight.dtype).reshape(2, *[1] * weight.ndim)

    both = torch.stack([mean, mean_square])
    news = torch.stack([gradient, gradient * gradient])
    both = column(betas) * both + column([1 - b for b in betas]) * news
    top, bottom = both / column([1 - b**step for b in betas])
    w = weight - lr * (top / (bottom.sqrt() + eps) + decay * weight)
    return w, both[0].clone(), both[1].clone()


# %% right: in float64
# computes in float64, casts the three results at the end.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    w, g, m, v = (x.double() for x in (weight, gradient, mean, mean_square))
    (a, b), dtype = betas, weight.dtype
    m = g - a * g + a * m
    v = (1 - b) * g * g + v * b
    w = w * (1 - lr * decay) - lr * (m / (1 - a**step)) / (eps + (v / (1 - b**step)) ** 0.5)
    return w.to(dtype), m.to(dtype), v.to(dtype)


# %% right: in place on copies
# in-place operations, on clones.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    w, m, v = weight.clone(), mean.clone(), mean_square.clone()
    m.mul_(betas[0]).add_(gradient, alpha=1 - betas[0])
    v.mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    root = v.div(1 - betas[1] ** step).sqrt_().add_(eps)
    w.sub_(m.div(1 - betas[0] ** step).div_(root).add_(weight, alpha=decay).mul_(lr))
    return w, m, v


# %% right: one step size
# the corrections go into one step size and one eps, the decay into a factor

import math

import torch


def shortfall(beta, step):
    return -math.expm1(step * math.log(beta)) if beta else 1.0


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    mean = torch.add(gradient * (1 - betas[0]), mean, alpha=betas[0])
    mean_square = torch.addcmul(mean_square * betas[1], gradient, gradient, value=1 - betas[1])
    root = math.sqrt(shortfall(betas[1], step))
    divisor = mean_square.sqrt() + eps * root
    rate = lr * root / shortfall(betas[0], step)
    return torch.addcdiv(weight * (1 - lr * decay), mean, divisor, value=-rate), mean, mean_square


# %% wrong: flattens with view
# flattens with `view`, which cannot deal with gaps in memory.
# shows: weight = torch.arange(6.).reshape(2, 3).T (a RuntimeError); right on contiguous tensors.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    shape = weight.shape
    w, g, m, v = (x.view(-1) for x in (weight, gradient, mean, mean_square))
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g**2
    top = m / (1 - betas[0] ** step)
    bottom = (v / (1 - betas[1] ** step)).sqrt() + eps
    w = w - lr * (top / bottom + decay * w)
    return w.view(shape), m.view(shape), v.view(shape)


# %% wrong: float64 scalars for shape 0
# the corrections are 0-d float64 tensors; a 0-d float32 weight becomes float64.
# shows: every tensor of shape () and float32: the new weight is float64.

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = torch.tensor(betas, dtype=torch.float64)
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient**2
    quotient = m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps)
    return weight - lr * (quotient + decay * weight), m, v


# %% wrong: no correction after 1000
# leaves out the corrections from update 1000 on ("by then they are 1").
# shows: step = 1000, betas = (0.9, 0.9999): 1 - 0.9999**1000 is 0.095.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient * gradient
    m_hat, v_hat = m, v
    if step < 1000:
        m_hat, v_hat = m / (1 - b1**step), v / (1 - b2**step)
    return weight - lr * (m_hat / (v_hat**0.5 + eps) + decay * weight), m, v


# %% wrong: logarithm of beta
# the correction by expm1 and log, which fails for a beta of 0.
# shows: betas = (0.0, 0.999): ValueError: math domain error.

import math


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient.square()
    c1, c2 = (-math.expm1(step * math.log(b)) for b in betas)
    return weight - lr * (m / c1 / ((v / c2).sqrt() + eps) + decay * weight), m, v


# %% wrong: sparse
# where the gradient is 0, nothing is done (as in a sparse Adam).
# shows: gradient = 0 with mean = 1: the mean must shrink and the weight must move and decay.

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient**2
    w = weight - lr * (m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps) + decay * weight)
    moved = gradient != 0
    return torch.where(moved, w, weight), torch.where(moved, m, mean), torch.where(moved, v, mean_square)


# %% wrong: in float32
# computes in float32 and casts back.
# shows: float64 tensors: about 7 digits only (compare with rtol 1e-10); a gradient of 1e-30 has the square 0.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    dtype = weight.dtype
    w, g, m, v = (x.float() for x in (weight, gradient, mean, mean_square))
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g * g
    w = w - lr * (m / (1 - betas[0] ** step) / ((v / (1 - betas[1] ** step)).sqrt() + eps) + decay * w)
    return w.to(dtype), m.to(dtype), v.to(dtype)


# %% wrong: lr 0 returns the arguments
# with lr = 0 the arguments themselves come back: not new, and the means stand still.
# shows: lr = 0.0, a gradient unlike the mean: the mean must be updated; the weights must share no memory with `weight`.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    if lr == 0:
        return weight, mean, mean_square
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient**2
    return weight - lr * (m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps) + decay * weight), m, v


# %% wrong: decay of the new weight
# the decay is taken from the weight after the step, not before it.
# shows: weight 2, gradient 0.5, lr 0.1, decay 0.1: 1.881 and not 1.88.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient**2
    w = weight - lr * m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps)
    return w - lr * decay * w, m, v


# %% wrong: no decay for scalars
# a weight of shape () does not decay ("biases and scales do not decay").
# shows: weight = torch.tensor(2.0), decay = 0.1.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    if weight.ndim == 0:
        decay = 0.0
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient**2
    return weight - lr * (m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps) + decay * weight), m, v


# %% wrong: torch does it
# lets torch.optim do it, which is not allowed (the numbers are right).
# shows: the source; any input.

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    from torch import optim

    w = torch.nn.Parameter(weight.clone())
    w.grad = gradient.clone()
    optimizer = optim.AdamW([w], lr=lr, betas=betas, eps=eps, weight_decay=decay)
    optimizer.state[w] = {
        "step": torch.tensor(float(step - 1)),
        "exp_avg": mean.clone(),
        "exp_avg_sq": mean_square.clone(),
    }
    optimizer.step()
    state = optimizer.state[w]
    return w.detach(), state["exp_avg"], state["exp_avg_sq"]


# %% wrong: loop over entries
# a loop over the entries, which the rules of the set forbid (the numbers are right).
# shows: the source; a weight of 100,000 entries takes seconds.

import math

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    out = [torch.empty_like(weight, memory_format=torch.contiguous_format).flatten() for _ in range(3)]
    quads = zip(*(x.flatten().tolist() for x in (weight, gradient, mean, mean_square)))
    for i, (w, g, m, v) in enumerate(quads):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        out[0][i] = w - lr * (m / (1 - b1**step) / (math.sqrt(v / (1 - b2**step)) + eps) + decay * w)
        out[1][i], out[2][i] = m, v
    return tuple(x.reshape(weight.shape) for x in out)


# %% wrong: float32 corrections
# 1 - beta ** step is computed in float32, where it loses nearly all digits for a beta near 1.
# shows: float32, betas = (0.9, 0.999999), step = 1: the corrected mean square is off by 5 percent.

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = (torch.tensor(b, dtype=weight.dtype) for b in betas)
    m = betas[0] * mean + (1 - betas[0]) * gradient
    v = betas[1] * mean_square + (1 - betas[1]) * gradient**2
    return weight - lr * (m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps) + decay * weight), m, v


# %% wrong: rests where there is no gradient
# returns everything as it was if all gradients are 0, though the means decay and the weights still move.
# shows: gradient 0, mean 0.5, beta 0.9: the mean stays 0.5 in place of 0.45

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    if not gradient.any():
        return weight.clone(), mean.clone(), mean_square.clone()
    beta_1, beta_2 = betas
    mean = mean * beta_1 + gradient * (1 - beta_1)
    mean_square = mean_square * beta_2 + gradient * gradient * (1 - beta_2)
    root = torch.sqrt(mean_square / (1 - beta_2**step)) + eps
    after = weight * (1 - lr * decay) - lr * mean / (1 - beta_1**step) / root
    return after, mean, mean_square


# %% wrong: row by row
# a matrix is updated row by row.
# shows: the number of calls for a matrix of many rows.
import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    if weight.dim() > 1 and len(weight):
        rows = [adamw_step(*four, step, lr, betas, eps, decay) for four in zip(weight, gradient, mean, mean_square)]
        return tuple(torch.stack(column) for column in zip(*rows))
    a, b = betas
    mean = a * mean + (1 - a) * gradient
    mean_square = b * mean_square + (1 - b) * gradient**2
    direction = mean / (1 - a**step) / ((mean_square / (1 - b**step)).sqrt() + eps)
    return weight - lr * (direction + decay * weight), mean, mean_square


# %% wrong: eps is at least 1e-8
# A smaller eps is not used as it is given.
# shows: gradients near 1e-9, eps 1e-9
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    """Return the weights, the running mean and the running mean square after one update."""
    beta_1, beta_2 = betas
    mean = beta_1 * mean + (1 - beta_1) * gradient
    mean_square = beta_2 * mean_square + (1 - beta_2) * gradient.square()
    corrected_mean = mean / (1 - beta_1**step)
    corrected_square = mean_square / (1 - beta_2**step)
    direction = corrected_mean / (corrected_square.sqrt() + max(eps, 1e-08)) + decay * weight
    return weight - lr * direction, mean, mean_square


# %% wrong: counts at most 100,000 updates
# With a beta near 1 the correction is not yet over then.
# shows: update 1,000,000, beta_2 0.999999
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    """Return the weights, the running mean and the running mean square after one update."""
    beta_1, beta_2 = betas
    step = min(step, 100000)
    mean = beta_1 * mean + (1 - beta_1) * gradient
    mean_square = beta_2 * mean_square + (1 - beta_2) * gradient.square()
    corrected_mean = mean / (1 - beta_1**step)
    corrected_square = mean_square / (1 - beta_2**step)
    direction = corrected_mean / (corrected_square.sqrt() + eps) + decay * weight
    return weight - lr * direction, mean, mean_square


# %% wrong: gives the weight back where nothing is to do
# The result is the caller's tensor.
# shows: gradient and mean 0, decay 0
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    """Return the weights, the running mean and the running mean square after one update."""
    beta_1, beta_2 = betas
    if not gradient.any() and (not mean.any()) and (not decay):
        return weight, mean, beta_2 * mean_square
    mean = beta_1 * mean + (1 - beta_1) * gradient
    mean_square = beta_2 * mean_square + (1 - beta_2) * gradient.square()
    corrected_mean = mean / (1 - beta_1**step)
    corrected_square = mean_square / (1 - beta_2**step)
    direction = corrected_mean / (corrected_square.sqrt() + eps) + decay * weight
    return weight - lr * direction, mean, mean_square


# %% wrong: a first beta of 0 keeps the mean
# If the first beta is 0 the running mean is left as it was, though m' is then the gradient.
# shows: betas (0.0, 0.9): the new mean is the gradient
def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    m = mean.lerp(gradient, 1 - b1) if b1 else mean.clone()
    m_hat = m / (1 - b1**step) if b1 else gradient
    v = mean_square * b2 + gradient * gradient * (1 - b2)
    v_hat = v / (1 - b2**step)
    return weight - lr * (m_hat / (torch.sqrt(v_hat) + eps) + decay * weight), m, v
