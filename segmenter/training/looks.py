"""How good a model is while it trains."""

from collections.abc import Sequence

from accelerate import PartialState
from accelerate.utils import gather_object

from segmenter.checkpoint import Checkpoint
from segmenter.evaluation import Mode, ScoredDocument, having, measure, modes_of, score_documents
from segmenter.labelled import LabelledDocument, sample_documents
from segmenter.scoring import TorchScorer
from segmenter.segmenter import Segmenter
from segmenter.training.processes import this_process

__all__ = ["Looks"]


class Looks:
    """Measures the model of a checkpoint as it is now, several processes sharing the work.

    :param checkpoint: Its model is trained in place.
    :param documents: To measure on; whole ones are taken, in the order of a hash of their ids.
    :param most_gaps: How many gaps they may have.
    """

    def __init__(self, checkpoint: Checkpoint, documents: Sequence[LabelledDocument], most_gaps: int) -> None:
        self._checkpoint = checkpoint
        self._documents = sample_documents(documents, most_gaps)
        # A sample with boundaries, or there is no AP.
        while not any(d.boundaries for d in self._documents) and len(self._documents) < len(documents):
            self._documents = sorted(documents, key=lambda d: not d.boundaries)[: len(self._documents) + 1]

    def __call__(self) -> dict[str, float]:
        """Measure.

        :return: AP of each way of reading, and ``average_precision``, their mean.
        """
        process = this_process()
        segmenter = Segmenter(self._checkpoint, TorchScorer(self._checkpoint.model, str(process.device)))
        areas: dict[str, float] = {}
        for mode in modes_of(self._documents):
            scored = self._scored(segmenter, mode, process)
            areas[mode] = measure(scored, resamples=0).micro["average_precision"].value
        mean = sum(areas.values()) / len(areas)
        return {
            "average_precision": mean,
            **{f"average_precision_{mode}": area for mode, area in areas.items()},
        }

    def _scored(self, segmenter: Segmenter, mode: Mode, process: PartialState) -> list[ScoredDocument]:
        documents = having(self._documents, mode)
        share = documents[process.process_index :: process.num_processes]
        scored = score_documents(segmenter, share, mode)
        if process.num_processes == 1:
            return scored
        gathered: list[ScoredDocument] = gather_object(scored)
        return gathered
