/** Sentences by key, in the language of the browser or the one that was chosen. */
import { useEffect, useState } from "preact/hooks";

export const LANGUAGES = { en: "English", zh: "中文" };
const KEPT = "easyloop.language";
const told = new Set();
let catalogue = {};
let language = "en";

const wished = () => localStorage.getItem(KEPT) ?? (navigator.language.startsWith("zh") ? "zh" : "en");

/** Fetches the sentences; everything that shows words is drawn anew. */
export async function speak(name = wished()) {
  const answer = await fetch(`/console/messages/${name}.json`);
  catalogue = await answer.json();
  language = name;
  document.documentElement.lang = name;
  told.forEach((tell) => tell(name));
}

/** As `speak`, and remembered. */
export function choose(name) {
  localStorage.setItem(KEPT, name);
  return speak(name);
}

/** The sentence under a key, with `{name}` replaced by the value of that name. */
export function t(key, values = {}) {
  const sentence = catalogue[key] ?? key;
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

export const number = (value) => new Intl.NumberFormat(language).format(value);
export const percent = (value) =>
  new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 }).format(value);
export const day = (time) => new Intl.DateTimeFormat(language, { dateStyle: "medium" }).format(new Date(time));

/** The language; who calls it is drawn anew when that changes. */
export function useLanguage() {
  const [name, tell] = useState(language);
  useEffect(() => {
    told.add(tell);
    return () => told.delete(tell);
  }, []);
  return name;
}
