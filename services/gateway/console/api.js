/** The public API as the page calls it. Whatever fails is a Failure with a sentence for people. */
import { t } from "./words.js";

const PART_ABOVE = 32 * 1024 * 1024;

export class Failure extends Error {
  /** @param {number} status 0 where no answer came */
  constructor(status, code, sentence) {
    super(sentence);
    this.status = status;
    this.code = code;
  }
}

/** @returns {Promise<any>} the JSON of the answer, null where it has none */
export async function call(method, path, body, headers = {}) {
  const options = { method, headers: { Accept: "application/json", ...headers } };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options).catch(() => {
    throw new Failure(0, "unreachable", t("error.unreachable"));
  });
  const text = await answer.text();
  return read(answer.status, text);
}

function read(status, text) {
  const found = text ? parse(text) : null;
  if (status < 400) return found;
  if (status === 401 && found?.code === "session_over") window.dispatchEvent(new Event("signed-out"));
  throw new Failure(status, found?.code ?? "unknown", found?.detail ?? t("error.odd", { status }));
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Sends bytes; `tell` hears how many of them are sent. */
export function send(method, path, content, tell = () => {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => tell(event.loaded);
    request.onerror = () => reject(new Failure(0, "unreachable", t("error.unreachable")));
    request.onload = () => {
      try {
        resolve(read(request.status, request.responseText));
      } catch (failure) {
        reject(failure);
      }
    };
    request.send(content);
  });
}

/** Uploads one file, a large one in parts of which those that arrived before are not sent again. */
export async function upload(dataset, file, label, tell) {
  if (file.size > PART_ABOVE) return uploadParts(dataset, file, label, tell);
  const query = new URLSearchParams({ file_name: file.name, ...(label && { label }) });
  return send("POST", `/v1/datasets/${dataset}/imports?${query}`, file, tell);
}

async function uploadParts(dataset, file, label, tell) {
  const session = await openUpload(dataset, file, label);
  const arrived = new Set(session.parts.map((part) => part.number));
  for (let part = 1; part <= session.part_count; part += 1) {
    const from = (part - 1) * session.part_size;
    if (!arrived.has(part)) {
      const content = file.slice(from, from + session.part_size);
      await send("PUT", `/v1/uploads/${session.id}/parts/${part}`, content, (sent) => tell(from + sent));
    }
  }
  return call("POST", `/v1/uploads/${session.id}/complete`);
}

async function openUpload(dataset, file, label) {
  const path = `/v1/datasets/${dataset}/uploads`;
  const begun = (await call("GET", path)).items.find((one) => one.file_name === file.name && one.size === file.size);
  return begun ?? call("POST", path, { file_name: file.name, size: file.size, ...(label && { label }) });
}
