"""What pymongo raises, in the words of the port."""

from collections.abc import Iterator
from contextlib import contextmanager

from pymongo.errors import (
    ConnectionFailure,
    DuplicateKeyError,
    ExecutionTimeout,
    OperationFailure,
    PyMongoError,
    WTimeoutError,
)

from chassis.documents.ports import DuplicateDocument
from chassis.errors import ServerUnavailable, WriteConflict

_WRITE_CONFLICT = 112
_NO_SUCH_TRANSACTION = 251
_UNAVAILABLE = (ConnectionFailure, ExecutionTimeout, WTimeoutError)


@contextmanager
def translated() -> Iterator[None]:
    """Raises ServerUnavailable, WriteConflict or DuplicateDocument; any other error is a fault of ours and passes."""
    try:
        yield
    except _UNAVAILABLE as error:
        raise ServerUnavailable(
            "documents_unavailable", f"the document store does not answer ({error}); it is asked again"
        ) from error
    except DuplicateKeyError as error:
        raise DuplicateDocument(str(error)) from error
    except OperationFailure as error:
        if _conflict(error):
            raise WriteConflict from error
        raise


def _conflict(error: PyMongoError) -> bool:
    code = error.code if isinstance(error, OperationFailure) else None
    return error.has_error_label("TransientTransactionError") or code in (_WRITE_CONFLICT, _NO_SUCH_TRANSACTION)
