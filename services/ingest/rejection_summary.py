"""The sentence for an archive of which nothing could be used. Pure."""

from collections import Counter
from collections.abc import Sequence

from chassis.manifests import Rejection
from schemas.base import Failure

_EXPECTED = (
    "Expected is a zip or tar with one folder a class and its samples inside, for example cat/1.jpg and dog/2.jpg, "
    "or a labels.csv beside the files."
)
_NAMED_REASONS = 3


def nothing_usable(file_name: str, rejections: Sequence[Rejection]) -> Failure:
    """What was found, and what is expected."""
    if not rejections:
        return Failure(code="empty_archive", sentence=f"{file_name}: the archive holds no files. {_EXPECTED}")
    counts = Counter(rejection.code for rejection in rejections).most_common(_NAMED_REASONS)
    reasons = ", ".join(f"{count} x {code}" for code, count in counts)
    found = f"none of its {len(rejections)} files can be used ({reasons}); the first: {rejections[0].sentence}"
    sentence = f"{file_name}: {found} {_EXPECTED}"
    return Failure(code="nothing_usable", sentence=sentence)
