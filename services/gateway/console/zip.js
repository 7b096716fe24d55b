/** A zip of photos, one folder a class, stored as they are (APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16). */
const MOST_FILES = 65535;
const MOST_BYTES = 2 ** 32 - 1;
const UTF8_NAMES = 1 << 11;
const VERSION = 20;
const DAY = 33; // 1980-01-01, the earliest: photos carry their own time
const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

/** Whether one zip of this form holds them. */
export const fits = (groups) => {
  const files = groups.flatMap((group) => group.files);
  const size = files.reduce((sum, file) => sum + file.size + 1024, 0);
  return files.length <= MOST_FILES && size <= MOST_BYTES;
};

/** @param {{label: string, files: File[]}[]} groups @returns {Promise<File>} */
export async function zipped(groups, name) {
  const bodies = [];
  const directory = [];
  let offset = 0;
  for (const entry of entriesOf(groups)) {
    const content = new Uint8Array(await entry.file.arrayBuffer());
    const path = new TextEncoder().encode(entry.path);
    const facts = { crc: crc32(content), size: content.length, path, offset };
    const head = header(facts);
    bodies.push(head, path, entry.file);
    directory.push(listed(facts), path);
    offset += head.length + path.length + content.length;
  }
  const length = directory.reduce((sum, part) => sum + part.length, 0);
  return new File([...bodies, ...directory, end(directory.length / 2, length, offset)], name);
}

/** Two cameras name alike: a number in front keeps names apart. */
function entriesOf(groups) {
  const folder = (label) => label.replaceAll(/[/\\]/g, "-");
  return groups.flatMap((group, of) =>
    group.files.map((file, index) => ({ file, path: `${folder(group.label)}/${of + 1}-${index + 1}-${file.name}` })),
  );
}

function crc32(content) {
  let crc = 0xffffffff;
  for (const byte of content) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** Little-endian numbers, each with its size in bytes. */
function packed(...fields) {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [size]) => sum + size, 0)));
  let at = 0;
  for (const [size, value] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
}

const shared = ({ crc, size, path }) => [
  [2, VERSION], [2, UTF8_NAMES], [2, 0], [2, 0], [2, DAY], [4, crc], [4, size], [4, size], [2, path.length], [2, 0],
];
const header = (facts) => packed([4, 0x04034b50], ...shared(facts));
const listed = (facts) =>
  packed([4, 0x02014b50], [2, VERSION], ...shared(facts), [2, 0], [2, 0], [2, 0], [4, 0], [4, facts.offset]);
const end = (count, length, offset) =>
  packed([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, length], [4, offset], [2, 0]);
