"""What a run has done, all of its processes and earlier attempts together."""

from dataclasses import asdict, dataclass
from typing import Any

from segmenter.corpus.folder import CorpusFolder

__all__ = ["CorpusReport", "outcome", "report_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusReport:
    """What a run has done, all of its processes and earlier attempts together.

    :ivar shards: Files written.
    :ivar documents: Documents read, bad ones included.
    :ivar bad_documents: Those in ``errors.jsonl``.
    :ivar empty_documents: Those without a chunk.
    :ivar unreadable_documents: Those most of whose words the model's vocabulary cannot read.
    :ivar chunks: Rows written.
    :ivar characters: Of the texts.
    :ivar gaps: Gaps that the model has scored.
    :ivar fingerprints: Those of the chunks, of the settings that cut them.
    :ivar seconds: Wall-clock time of all shards, that of several processes added up.
    :ivar seconds_model: Time in the model.
    :ivar seconds_waited: Time that the model had to wait for documents.
    :ivar is_complete: Whether all shards of the input are done.
    """

    shards: int
    documents: int
    bad_documents: int
    empty_documents: int
    unreadable_documents: int
    chunks: int
    characters: int
    gaps: int
    fingerprints: tuple[str, ...]
    seconds: float
    seconds_model: float
    seconds_waited: float
    is_complete: bool

    def throughput(self) -> dict[str, float]:
        """How fast it went, for each process.

        :return: Documents, characters and gaps a second, and shares of the time, 0 to 1.
        """
        seconds = max(self.seconds, 1e-9)
        return {
            "documents_a_second": round(self.documents / seconds, 3),
            "characters_a_second": round(self.characters / seconds, 1),
            "gaps_a_second": round(self.gaps / seconds, 3),
            "share_in_model": round(self.seconds_model / seconds, 4),
            "share_waited": round(self.seconds_waited / seconds, 4),
        }


def report_of(folder: CorpusFolder, is_complete: bool) -> CorpusReport:
    """Add up what is done.

    :param folder: Of the run.
    :param is_complete: Whether that is all.
    :return: The report.
    """
    records = [record for _, record in folder.records()]

    def total(name: str) -> Any:
        return sum(getattr(record, name) for record in records)

    return CorpusReport(
        shards=len(records),
        documents=total("documents"),
        bad_documents=sum(len(record.errors) for record in records),
        empty_documents=total("empty"),
        unreadable_documents=total("unreadable"),
        chunks=total("chunks"),
        characters=total("characters"),
        gaps=total("gaps"),
        fingerprints=tuple(sorted({each for record in records for each in record.fingerprints})),
        seconds=round(total("seconds"), 3),
        seconds_model=round(total("seconds_model"), 3),
        seconds_waited=round(total("seconds_waited"), 3),
        is_complete=is_complete,
    )


def outcome(report: CorpusReport) -> dict[str, Any]:
    """What ``run.json`` says of how it went.

    :param report: The report.
    :return: Values that JSON can hold.
    """
    not_counts = ("is_complete", "fingerprints")
    counts = {name: value for name, value in asdict(report).items() if name not in not_counts}
    return {"counts": counts, "fingerprints": report.fingerprints, "throughput": report.throughput()}
