# right: a linked list of parts and a heap of (rank, place): the leftmost place of the smallest rank is merged, old entries are passed over
import heapq


def encode_word(word, vocabulary, merges):
    rank = {}
    for r, pair in enumerate(merges):
        rank.setdefault(pair, r)
    part = {i: word[i : i + 1] for i in range(len(word))}
    after = {i: i + 1 for i in part}
    before = {i: i - 1 for i in part}
    heap = []

    def offer(i):
        j = after.get(i)
        if i in part and j in part and (part[i], part[j]) in rank:
            heapq.heappush(heap, (rank[part[i], part[j]], i, part[i], part[j]))

    for i in part:
        offer(i)
    while heap:
        _, i, left, right = heapq.heappop(heap)
        j = after.get(i)
        if part.get(i) != left or part.get(j) != right:
            continue
        part[i] = left + right
        del part[j]
        after[i] = after[j]
        before[after[i]] = i
        offer(i)
        offer(before[i])
    return [vocabulary.index(part[i]) for i in sorted(part)]
