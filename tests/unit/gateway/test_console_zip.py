"""The zip that the console makes of photos, read by Python's zipfile."""

import io
import shutil
import subprocess
import zipfile

import pytest

from services.gateway.api.console import FOLDER

SCRIPT = """
import { Buffer } from "node:buffer";
const source = Buffer.from(process.argv[1], "utf8").toString("base64");
const { zipped } = await import(`data:text/javascript;base64,${source}`);
const file = (name, text) => new File([text], name);
const groups = [
  { label: "苹果", files: [file("a.jpg", "first"), file("a.jpg", "second")] },
  { label: "../pear", files: [file("b.jpg", "")] },
];
const archive = await zipped(groups, "photos.zip");
process.stdout.write(Buffer.from(await archive.arrayBuffer()));
"""


@pytest.mark.skipif(
    shutil.which("node") is None, reason="node is not needed to use or build anything; it runs the module"
)
def test_a_zip_of_photos_has_one_folder_a_class() -> None:
    module = (FOLDER / "zip.js").read_text(encoding="utf-8")
    setup = 'import { File as BufferFile } from "node:buffer"; globalThis.File ??= BufferFile;\n'
    made = subprocess.run(
        ["node", "--input-type=module", "-e", setup + SCRIPT, module], capture_output=True, check=False
    )
    assert made.returncode == 0, made.stderr.decode()
    with zipfile.ZipFile(io.BytesIO(made.stdout)) as archive:
        assert archive.testzip() is None
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found == {"苹果/1-1-a.jpg": b"first", "苹果/1-2-a.jpg": b"second", "..-pear/2-1-b.jpg": b""}
