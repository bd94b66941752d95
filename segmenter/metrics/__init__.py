"""How good probabilities and boundaries are, beside a reference; numpy only, linear time.

Over gaps: entry ``g`` of an array says something about the gap behind sentence ``g``. Over segments: a
segmentation is the sequence of its segments' lengths in sentences, as segeval takes it.
"""

from segmenter.metrics.gaps import (
    BoundaryScores,
    CalibrationCurve,
    average_precision,
    best_threshold,
    calibration_curve,
    precision_recall_curve,
    precision_recall_f1,
)
from segmenter.metrics.segments import (
    BoundaryEdits,
    WindowErrors,
    boundary_edits,
    boundary_similarity,
    half_mean_segment,
    pk,
    segment_lengths,
    window_diff,
    window_errors,
)

__all__ = [
    "BoundaryEdits",
    "BoundaryScores",
    "CalibrationCurve",
    "WindowErrors",
    "average_precision",
    "best_threshold",
    "boundary_edits",
    "boundary_similarity",
    "calibration_curve",
    "half_mean_segment",
    "pk",
    "precision_recall_curve",
    "precision_recall_f1",
    "segment_lengths",
    "window_diff",
    "window_errors",
]
