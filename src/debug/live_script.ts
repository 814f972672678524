/** Owns the script that reloads a page. */

/**
 * The script, a file of its own so that a `Content-Security-Policy` with `'self'` allows it. The events are at `live`
 * beside it.
 */
export const LIVE_SCRIPT = `"use strict";
(() => {
  const url = new URL("live", document.currentScript.src).href;

  // The state of the program that made this page. Until another is told, the page is up to date.
  const [navigation] = performance.getEntriesByType("navigation");
  let made = navigation?.serverTiming?.find(({ name }) => name === "live")?.description;

  // A browser has six connections to a server for all of its tabs: one tab listens, and tells the others.
  const tabs = new BroadcastChannel(url);
  tabs.onmessage = ({ data }) => compare(data);
  navigator.locks?.request(url, () => new Promise(() => {
    new EventSource(url).onmessage = ({ data }) => {
      tabs.postMessage(data);
      compare(data);
    };
  }));

  function compare(state) {
    made ??= state;
    // Once for each change, whatever a cached page says of its state.
    const key = "live reload of " + location.href;
    if (made === state || sessionStorage.getItem(key) === state) return;
    sessionStorage.setItem(key, state);
    location.reload();
  }
})();
`;
