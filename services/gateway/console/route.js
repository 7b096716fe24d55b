/** Where one is: `#/datasets/ds_1/train`. A reload and the browser's back button lose nothing. */
import { useEffect, useState } from "preact/hooks";

const parts = () => location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);

export const go = (...path) => {
  location.hash = `/${path.map(encodeURIComponent).join("/")}`;
};

/** @returns {string[]} the parts of the address */
export function useRoute() {
  const [route, setRoute] = useState(parts());
  useEffect(() => {
    const changed = () => setRoute(parts());
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return route;
}
