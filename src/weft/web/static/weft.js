// Makes pages better where scripts run: live figures, relative times, keys. Every page is complete without it.
"use strict";

const SPANS = [[60, "s", 1], [3600, "min", 60], [86400, "h", 3600], [5184000, "d", 86400]];

function span(seconds) {
  for (const [most, unit, one] of SPANS) if (seconds < most) return `${Math.round(seconds / one)} ${unit}`;
  return `${Math.round(seconds / 2592000)} months`;
}

function tellTimes(root = document) {
  for (const time of root.querySelectorAll("time[data-ago]")) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    const words = Math.abs(seconds) < 1 ? "now" : seconds >= 0 ? `${span(seconds)} ago` : `in ${span(-seconds)}`;
    if (time.textContent !== words) time.textContent = words;
  }
}

// Keys: "/" goes to the box, n and p turn pages, j and k walk through results.
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
  const wanted = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (wanted) {
    event.preventDefault();
    if (wanted.matches("input")) { wanted.focus(); wanted.select(); } else wanted.click();
    return;
  }
  if (event.key === "j" || event.key === "k") {
    const hits = [...document.querySelectorAll("[data-hit]")];
    const at = hits.indexOf(document.activeElement);
    const next = hits[event.key === "j" ? at + 1 : Math.max(0, at - 1)];
    if (next) { event.preventDefault(); next.focus(); }
  }
}

// What an object has at a path such as "links.pending".
function at(object, path) {
  return path.split(".").reduce((found, name) => (found === null || found === undefined ? undefined : found[name]), object);
}

const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;
const UNSAFE = /[\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\ud800-\udfff]/gu;
const NUMBER = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });

const weft = {
  // Calls `take[name](data)` with every event of that name, and `tell(words)` when the connection comes and goes.
  // A browser comes back by itself with the last id; after a refusal we do, from there. A tab that nobody sees gives
  // its connection back, because browsers have few of them for one server; `take.away` may say that too much is missed.
  follow(asked, take, tell = () => {}) {
    const params = new URLSearchParams(asked);
    let source = null, again = 0, hidden = 0;
    const open = () => {
      clearTimeout(again);
      source = new EventSource(`/api/events?${params}`);
      source.onopen = () => tell("live");
      source.onerror = () => {
        tell("connection lost, trying again");
        if (source.readyState === EventSource.CLOSED) again = setTimeout(open, 5000);
      };
      for (const [name, use] of Object.entries(take)) {
        source.addEventListener(name, (event) => {
          if (event.lastEventId) params.set("after", event.lastEventId);
          use(JSON.parse(event.data));
        });
      }
    };
    const close = () => { clearTimeout(again); if (source) source.close(); source = null; };
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) { hidden = Date.now(); close(); tell("paused"); }
      else if (!source && take.away && Date.now() - hidden > 60000) take.away();
      else if (!source) open();
    });
    addEventListener("pagehide", close);
    addEventListener("pageshow", (event) => { if (event.persisted && !source) open(); });
    if (!document.hidden) open();
    return close;
  },
  // Puts the figures of a status where the page shows them.
  showFigures(status) {
    for (const place of document.querySelectorAll("[data-live]")) {
      const value = at(status, place.dataset.live);
      const words = typeof value === "number" ? NUMBER.format(value) : value === undefined || value === null ? "–" : String(value);
      if (place.textContent !== words) place.textContent = words;
    }
  },
  // Words from the web as one line that nothing turns around, as the server writes them.
  readable: (text) => text.replace(CONTROLS, " ").replace(UNSAFE, ""),
  span,
  tellTimes,
};
window.weft = weft;

document.addEventListener("keydown", onKey);
tellTimes();
setInterval(tellTimes, 5000);
