# F.glu(a, b) is a * sigmoid(b)

import torch
from torch.nn import functional as F


def feed_forward(x, weights):
    z, g = (x @ torch.cat([weights["expand"], weights["gate"]]).T).chunk(2, dim=-1)
    return F.glu(torch.cat([z * g, z], dim=-1), dim=-1) @ weights["contract"].T
