"""Answers to the task "cut a history"."""

from collections import deque

from assignments.answers import alternatives, mistakes


def see_order_tokens(tokens, order, eos):
    """The history is one token too long."""
    history = []
    for token in list(tokens)[::-1][:order]:
        history.insert(0, token)
        if token == eos:
            break
    return tuple(history)


def see_last_zero(tokens, order, eos):
    """A slice from minus zero takes everything."""
    history = list(tokens)[-(order - 1) :]
    for place in range(len(history) - 1, -1, -1):
        if history[place] == eos:
            return tuple(history[place:])
    return tuple(history)


def see_through_the_wall(tokens, order, eos):
    """The model looks into the document before."""
    return tuple(tokens[max(0, len(tokens) - order + 1) :])


def see_without_eos(tokens, order, eos):
    """The last eos is cut off as well."""
    history = []
    for token in reversed(tokens):
        if len(history) == order - 1 or token == eos:
            break
        history.insert(0, token)
    return tuple(history)


def see_from_first_eos(tokens, order, eos):
    """The cut is made at the first eos, not at the last."""
    history = list(tokens[max(0, len(tokens) - order + 1) :])
    if eos in history:
        history = history[history.index(eos) :]
    return tuple(history)


def see_the_beginning(tokens, order, eos):
    """The first tokens are taken instead of the last."""
    start = 0
    for place, token in enumerate(tokens):
        if token == eos:
            start = place
    return tuple(tokens[start:][: order - 1])


def see_backwards(tokens, order, eos):
    """The history is in reverse order."""
    history = []
    for token in reversed(tokens):
        if len(history) == order - 1:
            break
        history.append(token)
        if token == eos:
            break
    return tuple(history)


def see_padded(tokens, order, eos):
    """Short histories are filled up with eos."""
    history = []
    for token in reversed(tokens):
        if len(history) == order - 1:
            break
        history.insert(0, token)
        if token == eos:
            break
    return (eos,) * (order - 1 - len(history)) + tuple(history)


def see_a_list(tokens, order, eos):
    """The history is a list, which no dictionary accepts as a key."""
    history = []
    for token in reversed(tokens):
        if len(history) == order - 1:
            break
        history.insert(0, token)
        if token == eos:
            break
    return history


def by_slice(tokens, order, eos):
    """Slices, then looks for the wall from the right."""
    history = tuple(tokens[max(0, len(tokens) - (order - 1)) :])
    if eos in history:
        history = history[len(history) - 1 - history[::-1].index(eos) :]
    return history


def by_restart(tokens, order, eos):
    """Walks forward and starts again at every wall."""
    history = ()
    for token in tokens:
        history = (token,) if token == eos else (*history, token)
    return history[len(history) - order + 1 :] if len(history) >= order else history


def by_recursion(tokens, order, eos):
    """Takes the last token and calls itself for those before."""
    if order == 1 or len(tokens) == 0:
        return ()
    if tokens[-1] == eos:
        return (eos,)
    return (*by_recursion(tokens[:-1], order - 1, eos), tokens[-1])


def by_queue(tokens, order, eos):
    """Fills a queue that forgets, and empties it at every wall."""
    queue = deque(maxlen=order - 1)
    for token in tokens:
        if token == eos:
            queue.clear()
        queue.append(token)
    return tuple(queue)


def by_position(tokens, order, eos):
    """Computes where the history starts."""
    walls = [place for place, token in enumerate(tokens) if token == eos]
    start = max([len(tokens) - order + 1, 0, *walls[-1:]])
    return tuple(tokens[start:]) if order > 1 else ()


MISTAKES = mistakes(
    (
        see_order_tokens,
        "The order counts the target too. So a history has one token less than the order says.",
    ),
    (
        see_last_zero,
        "You are caught by a slice: minus zero is zero, so tokens[-0:] is the whole list. "
        "Look at what your slice does at order 1.",
    ),
    (
        see_through_the_wall,
        "The length is right, but eos is a wall. Look for the last eos among the tokens you "
        "keep; nothing before it may remain.",
    ),
    (
        see_without_eos,
        "You stop at the wall, as you should, but the eos itself belongs to the history. It "
        "tells the model that a document has just begun.",
    ),
    (
        see_from_first_eos,
        "There may be more than one eos in sight. Only the last one counts. Which one does "
        "list.index find?",
    ),
    (
        see_the_beginning,
        "The history is what stands right before the next token. You return the beginning of "
        "the document instead of its end.",
    ),
    (
        see_backwards,
        "You walk from the end to the front, which is a good idea. But the history must read "
        "from left to right again when you return it.",
    ),
    (
        see_padded,
        "A short history stays short: count_ngrams does not pad either. Return the tokens "
        "there are.",
    ),
    (
        see_a_list,
        "The tokens are right, but this is a list. The counts are a dictionary, and its keys "
        "are tuples.",
    ),
)

ALTERNATIVES = alternatives(by_slice, by_restart, by_recursion, by_queue, by_position)
