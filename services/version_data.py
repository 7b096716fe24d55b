"""A dataset version as the learning plug-ins take it: used by the stages that train and judge models."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from chassis.blobs.local_cache import LocalBlobCache
from chassis.blobs.ports import BlobDamaged, BlobMissing, BlobStore
from chassis.errors import PermanentError
from chassis.manifests import Sample, read_manifest
from learning.errors import LearningError
from learning.task import ClassInfo, LabelledSample
from schemas.base import BlobRef, Split


@dataclass(frozen=True)
class VersionData:
    """The classes in the order of the model's outputs, and the samples in the order of the manifest."""

    classes: tuple[ClassInfo, ...]
    samples: tuple[Sample, ...]

    @property
    def class_ids(self) -> tuple[str, ...]:
        """In the order of `classes`."""
        return tuple(each.id for each in self.classes)

    def on_sides(self, *sides: Split) -> list[Sample]:
        """The samples of these splits."""
        return [sample for sample in self.samples if sample.split in sides]


def read_version(blobs: BlobStore, manifest: BlobRef) -> VersionData:
    """Raises BlobMissing, BlobDamaged."""
    content = read_manifest(blobs.get(manifest))
    return VersionData(tuple(ClassInfo(each.id, each.name) for each in content.classes), content.samples)


def fetch_labelled(
    cache: LocalBlobCache, samples: Sequence[Sample], progress: Callable[[float], None]
) -> list[LabelledSample]:
    """The samples with their files on the local disk. Raises BlobMissing, BlobDamaged."""
    paths = cache.fetch_all([sample.blob for sample in samples], progress)
    return [LabelledSample(sample.blob.sha256, paths[sample.blob.sha256], sample.labels) for sample in samples]


def shas_of(samples: Iterable[Sample]) -> list[str]:
    """The content hashes, in order."""
    return [sample.blob.sha256 for sample in samples]


@contextmanager
def lasting_faults_are_permanent() -> Iterator[None]:
    """Raises PermanentError for what another attempt would meet again: the plug-in's verdicts, blobs that are gone."""
    try:
        yield
    except LearningError as error:
        raise PermanentError(error.code, error.sentence) from error
    except BlobMissing as error:
        raise PermanentError("blob_missing", str(error)) from error
    except BlobDamaged as error:
        raise PermanentError("blob_damaged", str(error)) from error
