"""How good a model is, before, while and after it trains; several processes share the work."""

from collections.abc import Sequence

from accelerate.utils import gather_object

from segmenter.backends import TorchScorer
from segmenter.checkpoint import Checkpoint
from segmenter.evaluation import Mode, ScoredDocument, having, measure, modes_of, score_documents
from segmenter.labelled import LabelledDocument, sample_documents
from segmenter.segmenter import Segmenter
from segmenter.training.processes import this_process

__all__ = ["Looks", "score_together"]


def score_together(
    checkpoint: Checkpoint, documents: Sequence[LabelledDocument], show_progress: bool = False
) -> dict[Mode, list[ScoredDocument]]:
    """Score documents in every way they can be read, each process a share of them.

    :param checkpoint: The model.
    :param documents: The documents; every process has them all.
    :param show_progress: Whether to show a bar on the standard error.
    :return: The same results in every process.
    """
    process = this_process()
    segmenter = Segmenter(checkpoint, TorchScorer(checkpoint.model, str(process.device)))
    results: dict[Mode, list[ScoredDocument]] = {}
    for mode in modes_of(documents):
        share = having(documents, mode)[process.process_index :: process.num_processes]
        is_shown = show_progress and process.is_main_process
        scored = score_documents(segmenter, share, mode, show_progress=is_shown)
        results[mode] = scored if process.num_processes == 1 else gather_object(scored)
    return results


class Looks:
    """Measures the model of a checkpoint as it is now.

    :param checkpoint: Its model is trained in place.
    :param documents: To measure on; whole ones are taken, in the order of a hash of their ids.
    :param most_gaps: How many gaps they may have.
    """

    def __init__(self, checkpoint: Checkpoint, documents: Sequence[LabelledDocument], most_gaps: int) -> None:
        self._checkpoint = checkpoint
        self._documents = sample_documents(documents, most_gaps)
        if not any(document.boundaries for document in self._documents):
            # Without boundaries there is no AP.
            self._documents = [document for document in documents if document.boundaries][:1]

    def __call__(self) -> dict[str, float]:
        """Measure.

        :return: AP of each way of reading, and ``average_precision``, their mean.
        """
        areas: dict[str, float] = {
            mode: measure(scored, resamples=0).micro["average_precision"].value
            for mode, scored in score_together(self._checkpoint, self._documents).items()
        }
        mean = sum(areas.values()) / len(areas)
        return {
            "average_precision": mean,
            **{f"average_precision_{mode}": area for mode, area in areas.items()},
        }
