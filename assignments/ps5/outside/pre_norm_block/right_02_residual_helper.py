def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    def residual(y, norm, sublayer):
        return y + sublayer(norm(y))

    return residual(residual(x, norm_1, lambda y: attention(y, mask)), norm_2, feed_forward)
