"""What upload sessions must do, the fake ones and the real ones alike."""

import hashlib
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chassis.blobs.fake import FakeBlobStore
from chassis.blobs.fake_sessions import FakeUploadSessions
from chassis.blobs.ports import BlobMissing, BlobStore
from chassis.blobs.s3 import S3BlobStore
from chassis.blobs.s3_sessions import S3UploadSessions
from chassis.blobs.sessions import MIN_PART_BYTES, Part, Session, SessionGone, UploadSessions
from chassis.clock import SystemClock
from tests.servers import LocalServers

KEY = "projects/prj_1/uploads/upl_1"
FIRST = bytes(range(256)) * (MIN_PART_BYTES // 256)
LAST = b"the end"


class Stores:
    """A store and the sessions of its bucket."""

    def __init__(self, blobs: BlobStore, sessions: UploadSessions, folder: Path) -> None:
        self.blobs = blobs
        self.sessions = sessions
        self._folder = folder

    def send(self, session: Session, number: int, content: bytes) -> Part:
        path = self._folder / "part"
        path.write_bytes(content)
        return self.sessions.put_part(session, number, path)


@pytest.fixture(params=["fake", "s3"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "fake":
        fake = FakeBlobStore()
        return Stores(fake, FakeUploadSessions(fake, SystemClock()), tmp_path)
    servers: LocalServers = request.getfixturevalue("local_servers")
    place = (servers.s3_endpoint, servers.s3_access_key, servers.s3_secret_key, f"sessions-{uuid.uuid4().hex}")
    blobs = S3BlobStore(*place)
    blobs.ensure_bucket()
    return Stores(blobs, S3UploadSessions(*place), tmp_path)


def test_parts_in_any_order_become_one_object(stores: Stores) -> None:
    session = stores.sessions.open(KEY, "application/zip")
    last = stores.send(session, 3, LAST)
    parts = [stores.send(session, 1, FIRST), stores.send(session, 2, FIRST[::-1]), last]
    assert [(part.number, part.size) for part in parts] == [(1, len(FIRST)), (2, len(FIRST)), (3, len(LAST))]
    assert list(stores.blobs.keys("projects/")) == []
    stores.sessions.complete(session, parts)
    whole = FIRST + FIRST[::-1] + LAST
    ref = stores.sessions.describe(KEY, "application/zip")
    assert (ref.key, ref.size, ref.sha256) == (KEY, len(whole), hashlib.sha256(whole).hexdigest())
    assert stores.blobs.get(ref) == whole
    assert list(stores.blobs.keys("projects/")) == [KEY]


@pytest.mark.parametrize("number", range(4))
def test_of_a_part_sent_again_the_tag_says_which_one_counts(stores: Stores, number: int) -> None:
    session = stores.sessions.open(KEY, "application/zip")
    first = stores.send(session, 1, FIRST)
    stores.send(session, 2, b"damaged on the way %d" % number)
    last = stores.send(session, 2, LAST)
    stores.sessions.complete(session, [first, last])
    assert stores.blobs.get_named(KEY) == FIRST + LAST


def test_a_session_that_is_over_is_gone(stores: Stores) -> None:
    aborted, completed = stores.sessions.open(KEY, "x/y"), stores.sessions.open(KEY, "x/y")
    stores.send(aborted, 1, FIRST)
    stores.sessions.complete(completed, [stores.send(completed, 1, LAST)])
    stores.sessions.abort(aborted)
    stores.sessions.abort(aborted)
    for session in (aborted, completed, Session(KEY, "never-was")):
        with pytest.raises(SessionGone):
            stores.send(session, 1, LAST)
    for session in (aborted, Session(KEY, "never-was")):
        with pytest.raises(SessionGone):
            stores.sessions.complete(session, [Part(1, 1, "x")])
    assert stores.blobs.get_named(KEY) == LAST


def test_completing_again_changes_nothing(stores: Stores) -> None:
    session = stores.sessions.open(KEY, "x/y")
    part = stores.send(session, 1, LAST)
    stores.sessions.complete(session, [part])
    with suppress(SessionGone):  # some servers say so, others answer as they did the first time
        stores.sessions.complete(session, [part])
    assert stores.blobs.get_named(KEY) == LAST


def test_open_sessions_are_listed_with_their_age(stores: Stores) -> None:
    kept, given_up = stores.sessions.open(KEY, "x/y"), stores.sessions.open(KEY, "x/y")
    stores.sessions.open("elsewhere/upl_2", "x/y")
    stores.sessions.abort(given_up)
    [found] = stores.sessions.opened("projects/")
    assert found.session == kept
    assert abs(datetime.now(UTC) - found.opened_at) < timedelta(minutes=5)


def test_what_is_not_there_cannot_be_described(stores: Stores) -> None:
    with pytest.raises(BlobMissing):
        stores.sessions.describe("projects/nothing", "x/y")
