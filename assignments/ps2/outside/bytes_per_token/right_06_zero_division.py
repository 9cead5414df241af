# right: one long byte string is measured, and the division by 0 itself is the test
from itertools import chain


def bytes_per_token(tokenizer, texts):
    n_tokens = len(list(chain.from_iterable(map(tokenizer.encode, texts))))
    try:
        return len("".join(texts).encode()) / n_tokens
    except ZeroDivisionError:
        raise ValueError("there is no token to divide by") from None
