"""Reads the samples of a chunk: each file decoded in full, brought into shape, stored with its thumbnail.

Blocking; several chunks may be read at once and share the threads. Reading a chunk again stores the same blobs.
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from chassis.blobs.ports import BlobDamaged, BlobMissing, BlobStore, thumbnail_key
from chassis.manifests import ClassName, Manifest, RawSample, Rejection, Sample, read_raw
from learning.errors import SampleRejected
from learning.registry import get_task
from learning.task import Prepared, TaskPlugin
from schemas.base import BlobRef
from schemas.dataset import SamplesIngested

log = logging.getLogger(__name__)

THUMBNAIL_TYPE = "image/jpeg"


@dataclass(frozen=True)
class ReadChunk:
    """The good samples, without sides yet, and the refused files. `classes` includes those without a good sample."""

    manifest: Manifest
    rejections: tuple[Rejection, ...]


class ChunkReader:
    """`threads` files are in work at a time, over all chunks: decoders release the interpreter, stores make it wait."""

    def __init__(self, blobs: BlobStore, threads: int) -> None:
        self._blobs = blobs
        self._threads = ThreadPoolExecutor(threads, "decode")

    def read(self, event: SamplesIngested) -> ReadChunk:
        """Raises ServerUnavailable, and BlobMissing when the chunk's own list is gone."""
        task = get_task(event.task)
        raws = read_raw(self._blobs.get(event.samples))
        outcomes = list(self._threads.map(lambda raw: self._read(task, raw, event.project_id), raws))
        classes = {name: ClassName.named(name) for raw in raws for name in raw.labels}
        samples = tuple(outcome for outcome in outcomes if isinstance(outcome, Sample))
        rejections = tuple(outcome for outcome in outcomes if isinstance(outcome, Rejection))
        return ReadChunk(Manifest(tuple(classes[name] for name in sorted(classes)), samples), rejections)

    def _read(self, task: TaskPlugin, raw: RawSample, project_id: str) -> Sample | Rejection:
        try:
            content = self._blobs.get(raw.blob)
        except (BlobMissing, BlobDamaged) as error:
            return Rejection(raw.name, "content_lost", f"{raw.name}: its content is lost ({error}); upload it again.")
        try:
            prepared = task.read(content, raw.name)
        except SampleRejected as verdict:
            return Rejection(raw.name, verdict.code, verdict.sentence)
        except Exception as error:
            # Whatever it is: one file that a decoder stumbles over must not cost the other 199.
            log.exception("%s could not be read", raw.name)
            sentence = f"{raw.name}: the decoder stumbled over it ({type(error).__name__}); save it anew and upload it."
            return Rejection(raw.name, "decoder_failed", sentence)
        return self._stored(raw, prepared, content, project_id)

    def _stored(self, raw: RawSample, prepared: Prepared, content: bytes, project_id: str) -> Sample:
        blob = self._content(raw.blob, prepared, content, project_id)
        if prepared.thumbnail:
            self._blobs.put_named(thumbnail_key(project_id, blob.sha256), prepared.thumbnail, THUMBNAIL_TYPE)
        labels = tuple(ClassName.named(name).id for name in raw.labels)
        size = prepared.width, prepared.height
        return Sample(raw.name, labels, blob, *size, prepared.notes, fingerprint=prepared.fingerprint)

    def _content(self, blob: BlobRef, prepared: Prepared, content: bytes, project_id: str) -> BlobRef:
        if prepared.content == content:
            return blob.model_copy(update={"media_type": prepared.media_type})
        return self._blobs.put(project_id, prepared.content, prepared.media_type)
