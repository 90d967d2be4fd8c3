"""One step of training: forward, loss, backward, update."""

from __future__ import annotations

import torch

from helpers.networks.backbones import Classifier
from helpers.networks.devices import precision_on
from helpers.training.objectives import ERM, Batch

_WARM_UP = 3  # steps before recording: momentum exists, and the fastest kernels are found


class Step:
    """Do one step after another; on a GPU, record one and replay it.

    A step of a small network is some hundreds of short kernels.  Launching them one by one takes
    several times longer than running them.  A replayed CUDA graph launches them at once.  All
    batches must then have the same shapes.
    """

    def __init__(
        self,
        classifier: Classifier,
        objective: ERM,
        optimiser,
        device: str,
        precision: str = "auto",
    ):
        self.classifier = classifier
        self.objective = objective
        self.optimiser = optimiser
        self.kind = torch.device(device).type
        self.mixed = precision_on(device, precision) == "bfloat16"
        self.steps = 0
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, and how many of the images were classified correctly, as scalars."""
        self.steps += 1
        if self.kind != "cuda" or self.steps <= _WARM_UP:
            return self._step(batch)
        if self.graph is None:
            self.graph = self._record(batch)
        for name, tensor in vars(self.inputs).items():
            tensor.copy_(getattr(batch, name))
        self.graph.replay()
        return self.results

    def _step(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast(self.kind, torch.bfloat16, enabled=self.mixed):
            loss, logits = self.objective(self.classifier, batch)
        loss.backward()
        self.optimiser.step()
        return loss.detach(), (logits.detach().argmax(dim=1) == batch.labels).sum()

    def _record(self, batch: Batch) -> torch.cuda.CUDAGraph:
        """Record a step without doing it, and return the record."""
        copies = {name: tensor.clone() for name, tensor in vars(batch).items()}
        self.inputs = Batch(**copies)
        self.optimiser.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        # other threads, such as one that pins a stream's batches, continue during this time
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self.results = self._step(self.inputs)
        return graph
