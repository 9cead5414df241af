# right: from the highest order down, with the probability mass that is still to be given away
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    answer, left = 0.0, 1.0
    for counts, discount, length in sorted(
        zip(counts_by_order, discounts, range(len(discounts))), key=lambda level: -level[2]
    ):
        row = counts.get(history[-length:] if length else ()) if length <= len(history) else None
        if row:
            total = sum(row.values())
            if token in row:
                answer += left * (row[token] - discount) / total
            left *= discount * len(row) / total
    return answer + left / vocab_size
