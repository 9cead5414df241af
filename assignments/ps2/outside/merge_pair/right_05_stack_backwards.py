def merge_pair(ids, pair, merged):
    stack, out = list(reversed(ids)), []
    while stack:
        a = stack.pop()
        if a == pair[0] and stack and stack[-1] == pair[1]:
            stack.pop()
            a = merged
        out.append(a)
    return out
