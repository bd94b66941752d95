"""After training: probabilities that mean what they say."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

__all__ = ["Calibration", "fit_calibration", "fold"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """P(boundary) becomes the sigmoid of ``margin / temperature + shift``.

    :ivar temperature: Above 0; more than 1 makes a model less sure.
    :ivar shift: Below 0 where boundaries are rarer than they were in training.
    """

    temperature: float
    shift: float


def fit_calibration(margins: NDArray[np.float32], reference: NDArray[np.bool_]) -> Calibration:
    """Fit by maximum likelihood.

    Platt (1999), "Probabilistic Outputs for Support Vector Machines", without its smoothing of the
    targets. The shift is what undersampled negatives need: they move the log odds by a constant
    (King and Zeng 2001, "Logistic Regression in Rare Events Data").

    :param margins: Logit of boundary minus logit of no boundary. *Shape:* ``(n_gaps,)``.
    :param reference: Which gaps are boundaries. *Shape:* ``(n_gaps,)``.
    :return: The best temperature and shift.
    """
    inputs = torch.from_numpy(margins).double()
    targets = torch.from_numpy(reference).double()
    parameters = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameters], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = functional.binary_cross_entropy_with_logits(parameters[0] * inputs + parameters[1], targets)
        loss.backward()
        return loss

    optimizer.step(closure)
    slope, shift = parameters.tolist()
    return Calibration(temperature=1 / slope, shift=shift)


def fold(model: PreTrainedModel, calibration: Calibration) -> None:
    """Put a calibration into the classifier's last layer, so that any loader gets its probabilities.

    :param model: A classifier of two labels, label 1 the boundary; changed in place.
    :param calibration: What was fitted on its margins.
    """
    *_, head = (
        module
        for module in model.modules()
        if isinstance(module, nn.Linear) and module.out_features == model.config.num_labels
    )
    with torch.no_grad():
        head.weight.div_(calibration.temperature)
        head.bias.div_(calibration.temperature)
        head.bias[1] += calibration.shift
