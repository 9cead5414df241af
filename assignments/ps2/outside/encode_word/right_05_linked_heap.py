# a heap of (rank, place), with links to the neighbours

import heapq


def encode_word(word, vocabulary, merges):
    rank = {pair: r for r, pair in enumerate(merges)}
    part = [bytes([b]) for b in word]
    n = len(part)
    after, before = list(range(1, n + 1)), list(range(-1, n - 1))
    heap = []

    def push(i):
        if 0 <= i < n and part[i] is not None and after[i] < n:
            pair = part[i], part[after[i]]
            if pair in rank:
                heapq.heappush(heap, (rank[pair], i, pair))

    for i in range(n):
        push(i)
    while heap:
        _, i, pair = heapq.heappop(heap)
        if part[i] is None or after[i] >= n or (part[i], part[after[i]]) != pair:
            continue
        j = after[i]
        part[i], part[j] = pair[0] + pair[1], None
        after[i] = after[j]
        if after[i] < n:
            before[after[i]] = i
        push(i)
        push(before[i])
    ids = {token: i for i, token in enumerate(vocabulary)}
    return [ids[p] for p in part if p is not None]
