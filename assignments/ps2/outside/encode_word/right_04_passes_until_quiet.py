from itertools import pairwise


def encode_word(word, vocabulary, merges):
    parts = [bytes([b]) for b in word]
    again = True
    while again:
        again = False
        for a, b in merges:
            if (a, b) not in set(pairwise(parts)):
                continue
            done, i = [], 0
            while i < len(parts):
                if i < len(parts) - 1 and parts[i] == a and parts[i + 1] == b:
                    done.append(a + b)
                    i += 2
                else:
                    done.append(parts[i])
                    i += 1
            parts, again = done, True
            break
    table = {token: i for i, token in reversed(list(enumerate(vocabulary))) if isinstance(token, bytes)}
    return [table[p] for p in parts]
