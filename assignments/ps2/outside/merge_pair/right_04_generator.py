def merge_pair(ids, pair, merged):
    def parts():
        stream = iter(ids)
        for a in stream:
            while a == pair[0]:
                b = next(stream, parts)
                if b is parts:
                    break
                if b == pair[1]:
                    a = merged
                    break
                yield a
                a = b
            else:
                yield a
                continue
            yield a

    return list(parts())
