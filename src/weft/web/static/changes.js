// Puts new changes on top of the list as they arrive. Whatever they hold is set as text, never as HTML.
"use strict";

(() => {
  const list = document.getElementById("changes");
  if (!list || !list.dataset.mark) return;
  const form = document.getElementById("change").content;
  const button = document.getElementById("show-new"), live = document.getElementById("live");
  const words = JSON.parse(list.dataset.words), most = Number(list.dataset.most);
  const LATE = 600000;  // Milliseconds: what is older comes from a time when nobody looked.
  let waiting = [], count = 0;

  function link(place, url) {
    const a = place.querySelector("a"), shown = document.createElement("bdi");
    shown.textContent = weft.readable(url);
    a.href = `/page?${new URLSearchParams({ url })}`;
    a.replaceChildren(shown);
  }

  function entry(item) {
    const made = form.cloneNode(true), slot = (name) => made.querySelector(`[data-slot="${name}"]`);
    const said = item.anchor || item.title || "", moved = item.moved_to || "";
    const [word, kind] = words[item.change] || [item.change, ""];
    const badge = made.querySelector(".badge"), time = document.createElement("time");
    badge.textContent = word;
    badge.className = `badge ${kind}`;
    link(slot("target"), item.target_url || item.target);
    if (item.source) link(slot("source"), item.source_url || item.source); else slot("source").remove();
    if (said) slot("words").querySelector("q").textContent = weft.readable(said); else slot("words").remove();
    if (moved) link(slot("moved"), moved); else slot("moved").remove();
    time.dateTime = time.title = item.at;
    time.dataset.ago = "";
    made.querySelector(".when").replaceChildren(time);
    made.querySelector("li").classList.add("fresh");
    return made;
  }

  function show() {
    list.prepend(...waiting.slice(-most).reverse().map(entry));
    while (list.children.length > most) list.lastElementChild.remove();
    document.getElementById("nothing")?.remove();
    weft.tellTimes(list);
    waiting = [];
    count = 0;
    button.hidden = true;
  }

  // A list that grows above what somebody reads or points at would push it away: then new ones wait behind a button.
  const isReading = () => list.getBoundingClientRect().top < 0 || list.matches(":hover") || list.contains(document.activeElement);

  function offer() {
    const number = count.toLocaleString("en-US");
    button.textContent = `${number} new change${count === 1 ? "" : "s"} – show`;
    button.hidden = false;
  }

  // Telling all that happened meanwhile could take long: the page itself has the newest.
  function away() {
    close();
    live.hidden = true;
    button.textContent = "There may be newer changes – show";
    button.onclick = () => location.assign(location.pathname + location.search);
    button.hidden = false;
  }

  function take(items) {
    if (Date.now() - Date.parse(items[items.length - 1].at) > LATE) { away(); return; }
    count += items.length;
    waiting = waiting.concat(items).slice(-most);
    if (isReading()) offer(); else show();
  }

  button.onclick = () => { show(); scrollTo({ top: 0 }); };
  const { mark: after, of, kind } = list.dataset, asked = { topics: "changes", after };
  if (of) asked.of = of;
  if (kind) asked.kind = kind;
  live.hidden = false;
  const close = weft.follow(asked, { changes: take, away }, (state) => { live.textContent = state; });
})();
