# wrong: if order n never saw its history, tries shorter ones in the table of the SAME order, where the starts of documents stand; breaks "If order n never saw its history ... then P_n is simply P_(n-1)."
# shows: three orders, history ("sat", EOS): order 3 finds (EOS,) in its own table
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for length, (counts, discount) in enumerate(zip(counts_by_order, discounts)):
        if length > len(history):
            break
        tail = history[len(history) - length :]
        while tail and tail not in counts:
            tail = tail[1:]
        row = counts.get(tail)
        if row:
            total = sum(row.values())
            p = (max(row[token] - discount, 0) + discount * len(row) * p) / total
    return p
