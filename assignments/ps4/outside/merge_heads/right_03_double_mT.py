def merge_heads(heads):
    return heads.mT.flatten(-3, -2).mT
