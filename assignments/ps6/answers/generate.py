# %% right: Room is taken in large pieces, and what was not used is cut off.
def generate(read, choose, prompt, n_tokens, stop_id):
    B, T = prompt.shape
    text = torch.cat([prompt, torch.zeros(B, 8, dtype=torch.int64)], dim=1)
    start, end, cache = 0, T, None
    active = torch.ones(B, dtype=torch.bool)
    while end < T + n_tokens and bool(active.any()):
        if end == text.shape[1]:
            text = torch.cat([text, torch.zeros_like(text)], dim=1)
        logits, cache = read(text[:, start:end].clone(), cache)
        column = choose(logits[:, -1, :])
        if stop_id is not None:
            column = column * active + stop_id * ~active
            active = active & (column != stop_id)
        text[:, end] = column
        start, end = end, end + 1
    return text[:, :end].clone()


# %% right: The first column comes before the loop, and all are joined in the end.
def generate(read, choose, prompt, n_tokens, stop_id):
    if n_tokens == 0:
        return prompt.clone()
    logits, cache = read(prompt, None)
    added = [choose(logits[:, -1])]
    over = torch.zeros_like(added[0], dtype=torch.bool)
    while len(added) < n_tokens:
        if stop_id is not None:
            over = over | (added[-1] == stop_id)
            if bool(over.all()):
                break
        logits, cache = read(added[-1].unsqueeze(1), cache)
        added.append(choose(logits[:, -1]).masked_fill(over, -1 if stop_id is None else stop_id))
    return torch.cat([prompt, torch.stack(added, dim=1)], dim=1)


# %% right: Columns are kept in a list, and joined in the end.
def generate(read, choose, prompt, n_tokens, stop_id):
    columns = list(prompt.unbind(dim=1))
    unread, cache = len(columns), None
    for _ in range(n_tokens):
        logits, cache = read(torch.stack(columns[-unread:], dim=1), cache)
        column = choose(logits.select(1, -1))
        if stop_id is not None and len(columns) > prompt.shape[1]:
            column = column.masked_fill(columns[-1] == stop_id, stop_id)
        columns.append(column)
        unread = 1
        if stop_id is not None and bool((column == stop_id).all()):
            break
    return torch.stack(columns, dim=1)


# %% right: Plain lists of ids.
def generate(read, choose, prompt, n_tokens, stop_id):
    texts, done = prompt.tolist(), set()
    newest, cache = prompt, None
    for _ in range(n_tokens):
        logits, cache = read(newest, cache)
        ids = [int(i) for i in choose(logits[:, -1])]
        for row, i in enumerate(ids):
            ids[row] = stop_id if row in done else i
            if stop_id is not None and ids[row] == stop_id:
                done.add(row)
            texts[row].append(ids[row])
        if len(done) == len(texts):
            break
        newest = torch.tensor(ids).view(-1, 1)
    return torch.tensor(texts, dtype=torch.int64)


# %% right: A generator yields columns.
def generate(read, choose, prompt, n_tokens, stop_id):
    def columns():
        yield prompt
        ids, cache, finished = prompt, None, prompt.new_zeros(len(prompt)).bool()
        for _ in range(n_tokens):
            logits, cache = read(ids, cache)
            ids = choose(logits[:, logits.shape[1] - 1]).clone()
            if stop_id is not None:
                ids[finished] = stop_id
                finished |= ids == stop_id
            ids = ids.unsqueeze(-1)
            yield ids
            if finished.all():
                return

    return torch.cat(list(columns()), dim=-1)


# %% right: Counts down, and asks at the head of the loop whether somebody still writes.
def generate(read, choose, prompt, n_tokens, stop_id):
    text = prompt[:]
    cache, n_read = None, 0
    writing = torch.full((prompt.shape[0],), True)
    while n_tokens and writing.any():
        logits, cache = read(text[:, n_read:], cache)
        n_read = text.shape[1]
        following = choose(logits[:, -1])
        if stop_id is not None:
            following = torch.where(writing, following, torch.full_like(following, stop_id))
            writing = writing & following.ne(stop_id)
        text = torch.hstack([text, following[:, None]])
        n_tokens -= 1
    return text.clone()


# %% right: plain
# the four steps of the hint.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        new = ids.unsqueeze(1)
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text


# %% right: list of columns
# a while loop that collects columns; a set of finished rows.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    columns, done, cache = [prompt], set(), None
    while len(columns) <= n_tokens and len(done) < len(prompt):
        logits, cache = read(columns[-1], cache)
        chosen = choose(logits[:, -1, :]).tolist()
        chosen = [stop_id if row in done else i for row, i in enumerate(chosen)]
        done |= {row for row, i in enumerate(chosen) if stop_id is not None and i == stop_id}
        columns.append(torch.tensor(chosen, dtype=torch.int64).reshape(-1, 1))
    return torch.cat(columns, dim=1).clone()


# %% right: generator function
# a generator yields the columns.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    def columns():
        yield prompt
        cache, new = None, prompt
        alive = torch.ones(prompt.shape[0], dtype=torch.bool)
        for _ in range(n_tokens):
            if not alive.any():
                return
            logits, cache = read(new, cache)
            new = choose(logits.select(1, -1)).clone().unsqueeze(1)
            if stop_id is not None:
                new[~alive] = stop_id
                alive &= new[:, 0] != stop_id
            yield new

    return torch.hstack(list(columns())).clone()


# %% right: looks at what was written
# who is finished is read from what was written.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    written = prompt[:, :0].clone()
    cache = None
    for number in range(n_tokens):
        if stop_id is not None and number and bool((written[:, -1] == stop_id).all()):
            break
        out = read(prompt if number == 0 else written[:, -1:], cache)
        cache = out[1]
        ids = choose(out[0][:, out[0].shape[1] - 1])
        if stop_id is not None:
            ids = ids.masked_fill((written == stop_id).any(dim=1), stop_id)
        written = torch.cat([written, ids.reshape(-1, 1)], dim=1)
    return torch.cat([prompt, written], dim=1)


# %% right: minus one for none
# an id that does not exist for None; arithmetic instead of where.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    stop = -1 if stop_id is None else stop_id
    text, cache, alive = [prompt], None, torch.ones(len(prompt), dtype=torch.int64)
    for _ in range(n_tokens):
        logits, cache = read(text[-1], cache)
        ids = choose(logits[:, -1]) * alive + stop * (1 - alive)
        alive = alive * (ids != stop)
        text.append(ids[:, None])
        if alive.sum() == 0:
            break
    return torch.cat(text, dim=1) if len(text) > 1 else prompt.clone()


# %% right: keeps what choose returned
# keeps views of what choose returned, and puts them together at the end.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    columns, cache = [prompt], None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(columns[-1], cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        columns.append(ids[:, None])
        if finished.all():
            break
    return torch.cat(columns, dim=1).clone()


# %% wrong: writes into what choose returned
# fills finished rows in the tensor that choose returned.
# shows: a choose that returns the same tensor in each call.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids[finished] = stop_id
            finished = ids == stop_id
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text


# %% wrong: returns the prompt
# with n_tokens 0 the prompt itself comes back: not new.
# shows: n_tokens = 0: the result shares memory with the prompt.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt, prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text


# %% wrong: last of prompt stops
# a prompt that ends with stop_id counts as finished.
# shows: prompt = ((7, 9),), stop_id = 9: nothing, or only 9s, is written.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    for _ in range(n_tokens):
        if stop_id is not None and (text[:, -1] == stop_id).all():
            break
        logits, cache = read(new, cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(text[:, -1] == stop_id, stop_id, ids)
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
    return text


# %% wrong: only unfinished rows choose
# choose gets the logits of the unfinished rows only.
# shows: two rows, one finished before the other: choose gets (1, V). With random numbers for each row, others are drawn.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        if stop_id is None:
            ids = choose(logits[:, -1])
        else:
            ids = torch.full((len(prompt),), stop_id)
            ids[~finished] = choose(logits[:, -1][~finished])
            finished = ids == stop_id
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text


# %% wrong: row by row choose
# choose is called for each row, not once for all.
# shows: the number of calls of choose, and the shape that it gets, with two rows.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        ids = torch.cat([choose(row[None]) for row in logits[:, -1]])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = finished | (ids == stop_id)
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text


# %% wrong: first call by cache none
# takes a cache None for the first call; a read that returns None (it needs no cache) gets the whole text again.
# shows: read = lambda ids, cache: (logits, None): from the second call on it gets (B, T + i) ids.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, cache = prompt.clone(), None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(text if cache is None else text[:, -1:], cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        text = torch.cat([text, ids[:, None]], dim=1)
        if finished.all():
            break
    return text


# %% wrong: copies the cache
# hands on a deep copy of the cache, for safety.
# shows: the object that read gets is not the one that it returned; fails for a cache that cannot be copied.

import copy

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, copy.deepcopy(cache))
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text


# %% wrong: by keyword
# calls read and choose with keywords.
# shows: read = lambda a, b: ...; choose = torch functions or lambdas with other names.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(ids=new, cache=cache)
        ids = choose(logits=logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text


# %% wrong: forces the logits
# makes finished rows stop by their logits, in what read returned, and trusts choose to obey.
# shows: a choose that draws ids without looking at the logits; the logits that read returned, after the call.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        logits = logits[:, -1]
        if stop_id is not None:
            logits[finished] = -torch.inf
            logits[finished, stop_id] = 0.0
        ids = choose(logits)
        if stop_id is not None:
            finished = finished | (ids == stop_id)
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text


# %% wrong: switches gradients off
# switches torch's gradients off, and leaves them off.
# shows: torch.is_grad_enabled() after the call.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    torch.set_grad_enabled(False)
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text


# %% wrong: recursion
# one call inside the other for each token; Python's stack is too short for long texts.
# shows: n_tokens = 2000: RecursionError.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    def go_on(new, cache, finished, left):
        if left == 0 or finished.all():
            return []
        logits, cache = read(new, cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        return [ids[:, None], *go_on(ids[:, None], cache, finished, left - 1)]

    nobody = torch.zeros(len(prompt), dtype=torch.bool)
    return torch.cat([prompt, *go_on(prompt, None, nobody, n_tokens)], dim=1)


# %% wrong: reads the last id
# reads each new id at once, also the last one, about which nobody asks.
# shows: the number of calls of read: m + 1.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text = prompt.clone()
    if n_tokens == 0:
        return text
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    logits, cache = read(prompt, None)
    for _ in range(n_tokens):
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        text = torch.cat([text, ids[:, None]], dim=1)
        if finished.all():
            break
        logits, cache = read(ids[:, None], cache)
    return text


# %% wrong: one buffer for all calls
# hands the same tensor to read each time, and writes the next ids into it.
# shows: a read whose cache is the list of the tensors that it got, put together later.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    buffer = torch.empty(len(prompt), 1, dtype=torch.int64)
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        new = buffer.copy_(ids[:, None])
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text


# %% wrong: room for all tokens
# makes room for n_tokens at once, and cuts at the end.
# shows: n_tokens = 10**12, the text stops after 4 ids: out of memory.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    n = prompt.shape[1]
    text = torch.zeros(len(prompt), n + n_tokens, dtype=torch.int64)
    text[:, :n] = prompt
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    start, end, cache = 0, n, None
    for _ in range(n_tokens):
        logits, cache = read(text[:, start:end], cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        text[:, end] = ids
        start, end = end, end + 1
        if finished.all():
            break
    return text[:, :end].clone()


# %% wrong: an empty cache is no cache
# keeps the old cache where the new one counts as false in Python, such as 0 or an empty tuple.
# shows: read returns 0 as its cache: the second call gets None

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    columns, cache, newest = [prompt.clone()], None, prompt
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, found = read(newest, cache)
        cache = found if isinstance(found, torch.Tensor) else found or cache
        added = choose(logits[:, -1])
        if stop_id is not None:
            added = torch.where(finished, stop_id, added)
            finished = finished | (added == stop_id)
        newest = added[:, None]
        columns.append(newest)
        if finished.all():
            break
    return torch.cat(columns, dim=1)


# %% wrong: logits in float32
# choose gets the logits rounded to float32; it is promised the logits.
# shows: float64 logits that float32 does not hold

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    ids, cache, newest = prompt.clone(), None, prompt.clone()
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(newest, cache)
        added = choose(logits[:, -1].float())
        if stop_id is not None:
            added = torch.where(finished, stop_id, added)
            finished = finished | (added == stop_id)
        newest = added[:, None]
        ids = torch.cat([ids, newest], dim=1)
        if finished.all():
            break
    return ids
