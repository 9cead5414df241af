# the live beginnings stand in the order of their ids, so a stable sort by the sum alone keeps the rule for ties

def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [((), 0.0)], []
    for n in range(1, max_length + 1):
        rows = [next_log_probs(ids).tolist() for ids, _ in live]
        grown = [
            (ids + (i,), total + lp)
            for (ids, total), row in zip(live, rows)
            for i, lp in enumerate(row)
            if lp > float("-inf")
        ]
        kept = sorted(grown, key=lambda g: g[1], reverse=True)[:n_beams]
        kept.sort(key=lambda g: g[0])
        penalty = ((5 + n) / 6) ** alpha
        live = []
        for ids, total in kept:
            if ids[-1] == eos_id or n == max_length:
                done.append((total / penalty, ids))
            else:
                live.append((ids, total))
        if not live:
            break
    done.sort(key=lambda d: d[1])
    done.sort(key=lambda d: d[0], reverse=True)
    return done[:n_beams]
