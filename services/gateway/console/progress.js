/** A run's events as they come (server-sent events), folded into what the page shows. */
import { useEffect, useState } from "preact/hooks";

const TRIAL = "easyloop.trial.completed.v1";
const ENDED = "easyloop.run.ended.v1";
const PROGRESS = ["easyloop.study.progressed.v1", "easyloop.training.progressed.v1"];
const NOTHING = { fraction: null, eta: null, trials: [] };

/** @returns {{fraction: number | null, eta: number | null, trials: object[]}} `eta` in seconds */
export function useProgress(run) {
  const [progress, setProgress] = useState(NOTHING);
  useEffect(() => {
    setProgress(NOTHING);
    const source = new EventSource(`/v1/runs/${run}/events`);
    const on = (type, take) => source.addEventListener(type, (event) => take(JSON.parse(event.data).data));
    PROGRESS.forEach((type) => on(type, (data) => setProgress((now) => ({ ...now, fraction: data.fraction, eta: data.eta_s ?? null }))));
    on(TRIAL, (data) => setProgress((now) => ({ ...now, trials: including(now.trials, data) })));
    on(ENDED, () => source.close());
    return () => source.close();
  }, [run]);
  return progress;
}

/** An event may come twice: a trial is shown once. */
function including(trials, trial) {
  return [...trials.filter((one) => one.trial !== trial.trial), trial].sort((one, other) => one.trial - other.trial);
}
