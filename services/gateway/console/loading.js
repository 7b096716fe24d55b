/** What pages read from the API, read again while it may still change. */
import { useEffect, useState } from "preact/hooks";
import { call } from "./api.js";

/**
 * @param {string | null} path nothing is read where it is null
 * @param {number} every milliseconds between two reads; 0 reads once
 * @returns {{value: any, failure: Error | null, reload: () => void}}
 */
export function useLoaded(path, every = 0) {
  const [state, setState] = useState({ path, value: null, failure: null });
  const [turn, setTurn] = useState(0);
  useEffect(() => follow(path, every, setState), [path, every, turn]);
  const reload = () => setTurn((count) => count + 1);
  return state.path === path ? { ...state, reload } : { value: null, failure: null, reload };
}

function follow(path, every, setState) {
  if (!path) return undefined;
  let timer = 0;
  let isOver = false;
  const read = async () => {
    const next = await call("GET", path).then(
      (value) => ({ path, value, failure: null }),
      (failure) => ({ path, value: null, failure }),
    );
    if (isOver) return;
    setState((last) => (next.failure && last.path === path ? { ...last, failure: next.failure } : next));
    if (every) timer = setTimeout(read, every);
  };
  read();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** Runs something that may fail; says whether it runs and how it failed. */
export function useAction(act) {
  const [state, setState] = useState({ isBusy: false, failure: null });
  const run = async (...args) => {
    setState({ isBusy: true, failure: null });
    try {
      await act(...args);
      setState({ isBusy: false, failure: null });
    } catch (failure) {
      setState({ isBusy: false, failure });
    }
  };
  return { ...state, run };
}
