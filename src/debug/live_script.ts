/** Owns the script that reloads a page. */

/**
 * The script, a file of its own so that a `Content-Security-Policy` with `'self'` allows it. The events are
 * listened to at `live` beside it.
 */
export const LIVE_SCRIPT = `"use strict";
(() => {
  const { src, dataset: { method } } = document.currentScript;
  const url = new URL("live", src).href;
  const key = "live reload of " + url;
  if (window[key]) return; // a script of the page has put in a second copy
  window[key] = true;

  // The state of the program that made this page. Until a tab has told another, the page is up to date.
  const [navigation] = performance.getEntriesByType("navigation");
  let made = navigation?.serverTiming?.find(({ name }) => name === "live")?.description;

  // A browser has six connections to a server for all of its tabs: one tab listens and tells the others.
  const tabs = new BroadcastChannel(key);
  let latest;
  tabs.onmessage = ({ data }) => {
    if (data !== "ask") compare(data);
    else if (latest) tabs.postMessage(latest);
  };

  // A page that is kept for "back" must not keep the others from listening.
  let leaving;
  join();
  addEventListener("pagehide", () => leaving.abort());
  addEventListener("pageshow", ({ persisted }) => persisted && join());

  function join() {
    leaving = new AbortController();
    const { signal } = leaving;
    tabs.postMessage("ask");
    const listening = () => new Promise((end) => listen(signal, end));
    if (navigator.locks) navigator.locks.request(key, { signal }, listening).catch(() => {});
    else listening();
  }

  function listen(signal, end) {
    const events = new EventSource(url);
    events.onmessage = ({ data }) => {
      latest = data;
      tabs.postMessage(latest);
      compare(latest);
    };
    events.onerror = () => {
      // A server without live reload closes them; without a server, the browser tries again.
      if (events.readyState === EventSource.CLOSED) end();
    };
    signal.addEventListener("abort", () => {
      events.close();
      latest = undefined;
      end();
    });
  }

  function compare(state) {
    made ??= state;
    if (made === state) return;
    if (method) return console.info("Not reloaded: that would send the form again");
    // Once for each change, whatever the browser says about the state of the page.
    const change = location.href + " " + made + " " + state;
    const changes = JSON.parse(sessionStorage.getItem(key) ?? "[]");
    if (changes.includes(change)) return;
    sessionStorage.setItem(key, JSON.stringify([...changes, change].slice(-20)));
    location.reload();
  }
})();
`;
