import re
from itertools import pairwise


def encode(text: str, vocabulary: list, merges: list, pattern: str) -> list[int]:
    known = dict(map(reversed, enumerate(vocabulary)))
    ids: list[int] = []
    for match in re.finditer(pattern, text):
        start, end = match.span()
        word = bytes(text[start:end], "utf-8")
        parts = [word[i : i + 1] for i in range(len(word))]
        quiet = False
        while not quiet:
            quiet = True
            for pair in merges:
                if pair in pairwise(parts):
                    i = 0
                    while i < len(parts) - 1:
                        if (parts[i], parts[i + 1]) == pair:
                            parts[i : i + 2] = [pair[0] + pair[1]]
                        i += 1
                    quiet = False
                    break
        ids += [known[part] for part in parts]
    return ids
