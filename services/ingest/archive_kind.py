"""What an upload is when it is not a readable zip archive. Pure."""

HEAD_BYTES = 265
_KINDS = (
    (b"7z\xbc\xaf\x27\x1c", 0, "a 7z archive"),
    (b"Rar!\x1a\x07", 0, "a RAR archive"),
    (b"ustar", 257, "a tar archive"),
    (b"\x1f\x8b", 0, "a gzip file (often a tar.gz)"),
    (b"BZh", 0, "a bzip2 file (often a tar.bz2)"),
    (b"\xfd7zXZ\x00", 0, "an xz file (often a tar.xz)"),
    (b"\x28\xb5\x2f\xfd", 0, "a zstd file"),
    (b"\xff\xd8\xff", 0, "a single JPEG picture"),
    (b"\x89PNG", 0, "a single PNG picture"),
    (b"%PDF", 0, "a PDF document"),
)


def unreadable_archive(head: bytes, file_name: str) -> tuple[str, str]:
    """Code and sentence for a file that is no whole zip; `head` is its beginning, HEAD_BYTES where it has them."""
    if not head:
        return "empty_file", f"{file_name}: the file is empty; upload it again."
    if head.startswith(b"PK\x03\x04"):
        return "truncated_archive", f"{file_name}: the zip archive breaks off before its end; upload it again."
    for magic, at, kind in _KINDS:
        if head[at : at + len(magic)] == magic:
            return "not_a_zip", f"{file_name}: this is {kind}, not a zip archive; pack the class folders as a zip."
    return "not_a_zip", f"{file_name}: this is not a zip archive; pack the class folders as a zip and upload that."
