"""The classifier while it trains: its own loss, and one for the gaps inside its window."""

from dataclasses import dataclass

import torch
from torch import distributed, nn
from torch.nn import functional
from transformers import PreTrainedModel

from segmenter.encoder import classify, encode, is_distilbert

__all__ = ["GapLoss", "GapModel"]


@dataclass(frozen=True, kw_only=True, slots=True)
class GapLoss:
    """What the training makes small.

    :ivar inner_weight: Weight of the helper loss beside the classifier's, 0 or more.
    :ivar boundary_weight: How often a boundary counts where another gap counts once, above 0.
    :ivar focal_gamma: How little gaps count that are right already; 0 for the plain cross entropy (Lin
        et al. 2017, "Focal Loss for Dense Object Detection", without its alpha).
    :ivar boundary_label: Index of the classifier's label that means a boundary, 0 or 1.
    """

    inner_weight: float = 0.5
    boundary_weight: float = 1.0
    focal_gamma: float = 0.0
    boundary_label: int = 1

    def of_windows(self, logits: torch.Tensor, is_boundary: torch.Tensor) -> torch.Tensor:
        """The classifier's loss.

        :param logits: *Shape:* ``(batch, 2)``.
        :param is_boundary: 1 for a boundary. *Shape:* ``(batch,)``.
        :return: A number, the mean over the weights.
        """
        labels = is_boundary if self.boundary_label == 1 else 1 - is_boundary
        weights = torch.where(is_boundary == 1, self.boundary_weight, 1.0)
        losses = functional.cross_entropy(logits.float(), labels, reduction="none")
        # The chance of the right label, to the power of gamma.
        focus = (1 - torch.exp(-losses)) ** self.focal_gamma if self.focal_gamma else 1.0
        return (weights * focus * losses).sum() / weights.sum()


class GapModel(nn.Module):
    """A sequence classifier with a helper head that is thrown away after training.

    A window with a wide context holds several gaps whose labels are known. The helper head reads
    each of them off the token before it, so that one window teaches the encoder several times; the
    classifier itself learns the gap in the middle from ``[CLS]``, as it will be used.

    :param classifier: The model to train, of two labels.
    :param loss: What to make small.
    """

    def __init__(self, classifier: PreTrainedModel, loss: GapLoss) -> None:
        super().__init__()
        self.classifier = classifier
        self.inner_head = nn.Linear(classifier.config.hidden_size, 2)
        if not loss.inner_weight:
            self.inner_head.requires_grad_(False)
        self._loss = loss
        self.seen: torch.Tensor
        # Windows and inner gaps seen in training; a buffer, so that checkpoints keep the count.
        self.register_buffer("seen", torch.zeros(2, dtype=torch.long))

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        labels: torch.Tensor,
        inner: torch.Tensor,
        inner_labels: torch.Tensor,
    ) -> dict[str, torch.Tensor]:
        """Compute the losses.

        :param input_ids: *Shape:* ``(batch, length)``.
        :param attention_mask: *Shape:* ``(batch, length)``.
        :param labels: 1 for a boundary. *Shape:* ``(batch,)``.
        :param inner: Row and position of the tokens before gaps. *Shape:* ``(n_inner, 2)``.
        :param inner_labels: *Shape:* ``(n_inner,)``.
        :return: ``loss``, and its parts ``window_loss`` and ``inner_loss``.
        """
        if is_distilbert(self.classifier):
            logits, states = _distilbert(self.classifier, input_ids, attention_mask, inner)
        else:
            output = self.classifier(
                input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True
            )
            logits = output.logits
            states = output.hidden_states[-1][inner[:, 0], inner[:, 1]]
        if self.training:
            seen = torch.tensor([len(labels), len(inner_labels)], device=self.seen.device)
            if distributed.is_available() and distributed.is_initialized():
                distributed.all_reduce(seen)
            self.seen += seen
        window_loss = self._loss.of_windows(logits, labels)
        inner_loss = functional.cross_entropy(
            self.inner_head(states).float(), inner_labels, reduction="sum"
        ) / max(1, len(inner_labels))
        return {
            "loss": window_loss + self._loss.inner_weight * inner_loss,
            "window_loss": window_loss.detach(),
            "inner_loss": inner_loss.detach(),
        }


def _distilbert(
    model: PreTrainedModel,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    inner: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and inner states."""
    # Tokens read of a row: [CLS] first, then those before its inner gaps, filled up with [CLS].
    counts = torch.bincount(inner[:, 0], minlength=len(input_ids))
    slot = torch.arange(len(inner), device=inner.device) - (torch.cumsum(counts, 0) - counts)[inner[:, 0]] + 1
    read = torch.zeros(len(input_ids), int(counts.max()) + 1, dtype=torch.long, device=inner.device)
    read[inner[:, 0], slot] = inner[:, 1]
    states = encode(model, input_ids, attention_mask, read)
    return classify(model, states[:, 0]), states[inner[:, 0], slot]
