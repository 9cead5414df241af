# wrong: a heap of pairs; an entry with an old count is thrown away, but a pair whose count FELL was never pushed anew, so it is lost; breaks "stop when no pair occurs as often as this" / "Stop as well when no pair is left" (too early here)
# shows: learn_merges({b"abc": 5, b"ab": 2, b"bc": 3}, 999, 1): after b + c, (a, b) fell from 7 to 2, and it is never merged
import heapq
from collections import Counter


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [(list(word), count) for word, count in words.items()]

    def count_all():
        pairs = Counter()
        for ids, count in rows:
            for pair in zip(ids, ids[1:]):
                pairs[pair] += count
        return pairs

    pairs = count_all()
    heap = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(heap)
    while len(tokens) < n_tokens and heap:
        count, best = heapq.heappop(heap)
        if pairs.get(best, 0) != -count:
            continue
        if -count < min_count:
            break
        new = len(tokens)
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
        for ids, _ in rows:
            i = 0
            while i + 1 < len(ids):
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [new]
                i += 1
        pairs = count_all()
        for pair, number in pairs.items():
            if new in pair:
                heapq.heappush(heap, (-number, pair))
    return tokens, merges
