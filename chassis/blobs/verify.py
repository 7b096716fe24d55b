"""Whether a blob is what its reference says."""

from chassis.blobs.ports import BlobDamaged
from schemas.base import BlobRef


def check(ref: BlobRef, size: int, sha256: str) -> None:
    """Raises BlobDamaged unless size in bytes and hash (lower-case hex) are those of the reference."""
    if size != ref.size:
        raise BlobDamaged(
            f"{ref.key} has {size} bytes, its reference says {ref.size}; upload it again or restore it from a backup"
        )
    if sha256 != ref.sha256:
        raise BlobDamaged(
            f"{ref.key} hashes to {sha256}, its reference says {ref.sha256}; "
            "upload it again or restore it from a backup"
        )


def missing(key: str) -> str:
    """The sentence of a BlobMissing."""
    return f"{key} is not in the object store; it was deleted or never written: upload it again"
