"""A training loop of one's own: update after every batch, compute and reset at the end of an epoch."""

import torch
from toy import Detector, draw

from verite.compat.torchmetrics import MeanAveragePrecision

pictures, targets = draw(32)
detector = Detector()
optimizer = torch.optim.SGD(detector.parameters(), lr=2.0)
metric = MeanAveragePrecision()

for epoch in range(5):
    optimizer.zero_grad()
    detector.loss(pictures, targets).backward()
    optimizer.step()
    for first in range(0, len(pictures), 8):
        metric.update(detector.predict(pictures[first : first + 8]), targets[first : first + 8])
    result = metric.compute()
    metric.reset()
    print(f"epoch {epoch}: map {result['map']:.3f} map_50 {result['map_50']:.3f}")
