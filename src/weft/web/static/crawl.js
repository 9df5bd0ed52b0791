// The dashboard moves: charts are drawn as figures arrive, the other parts are taken from a fresh copy of the page.
"use strict";

(() => {
  const SHORTEST = 60, LONGEST = 600, GAP = 10;  // seconds, as in live_charts.py
  const NUMBER = { rate: 1, queued: 0, fresh: 1 };
  const now = () => performance.now() / 1000;
  const began = now();

  // A chart goes on where the server's picture ended: the ages of its points are those of the page.
  const charts = [...document.querySelectorAll("[data-chart]")].map((svg) => ({
    svg,
    name: svg.dataset.chart,
    points: svg.dataset.points.split(" ").filter(Boolean).map((pair) => {
      const [age, value] = pair.split(",");
      return [began - Number(age), value === "" ? null : Number(value)];
    }),
  }));

  function roundTop(most) {
    if (most <= 0) return 1;
    const power = 10 ** Math.floor(Math.log10(most));
    return [1, 2, 5, 10].map((factor) => factor * power).find((top) => top >= most) ?? 10 * power;
  }

  // Points that are one line: all known, and none long after the other.
  function runsOf(points) {
    const runs = [[]];
    for (const [at, value] of points) {
      const run = runs[runs.length - 1];
      if (value === null || (run.length && at - run[run.length - 1][0] > GAP)) runs.push([]);
      if (value !== null) runs[runs.length - 1].push([at, value]);
    }
    return runs.filter((run) => run.length);
  }

  const place = (name, data) => document.querySelector(`[data-${data}="${name}"]`);

  function draw(chart) {
    const { width, height } = chart.svg.viewBox.baseVal, moment = now();
    chart.points = chart.points.filter(([at]) => moment - at <= LONGEST);
    const seconds = Math.min(LONGEST, Math.max(SHORTEST, ...chart.points.map(([at]) => moment - at)));
    const top = roundTop(Math.max(0, ...chart.points.map(([, value]) => value ?? 0)));
    const x = (at) => (width * (1 - (moment - at) / seconds)).toFixed(1);
    const y = (value) => (height * (1 - value / top)).toFixed(1);
    const runs = runsOf(chart.points);
    const lines = runs.map((run) => run.map(([at, value]) => `${x(at)} ${y(value)}`).join("L"));
    const areas = runs.map((run, n) => `M${x(run[0][0])} ${height}L${lines[n]}L${x(run[run.length - 1][0])} ${height}Z`);
    chart.svg.querySelector(".line").setAttribute("d", lines.map((line) => `M${line}`).join(""));
    chart.svg.querySelector(".area").setAttribute("d", areas.join(""));
    place(chart.name, "top").textContent = top.toLocaleString("en-US");
    place(chart.name, "begin").textContent = `${weft.span(seconds)} ago`;
  }

  function takeFigures(figures) {
    for (const chart of charts) {
      const value = figures[chart.name] ?? null, digits = NUMBER[chart.name];
      chart.points.push([now(), value]);
      const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
      place(chart.name, "latest").textContent = value === null ? "–" : value.toLocaleString("en-US", form);
      draw(chart);
    }
  }

  // A fresh copy of this page, as the server writes it: every part that differs takes the place of the old one.
  let isAsking = false, isLeaving = false;
  async function renew() {
    if (isAsking || isLeaving) return;
    isAsking = true;
    try {
      const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-part]")) replace(part, fresh.querySelector(`[data-part="${part.dataset.part}"]`));
      weft.tellTimes();
    } catch {
      // The connection is gone; the stream tells so.
    } finally {
      isAsking = false;
    }
  }

  function replace(part, fresh) {
    if (!fresh || part.innerHTML === fresh.innerHTML) return;
    const focused = part.contains(document.activeElement);
    if (focused) return;  // nothing is taken away from under somebody's fingers
    const open = Boolean(part.querySelector("details[open]"));
    part.replaceChildren(...fresh.childNodes);
    if (open) part.querySelector("details")?.setAttribute("open", "");
  }

  const live = document.getElementById("live");
  let asked = 0;
  addEventListener("submit", () => { isLeaving = true; });
  live.hidden = false;
  weft.follow({ topics: "status,figures" }, {
    figures: takeFigures,
    status: () => { if (now() - asked >= 1.9) { asked = now(); renew(); } },
  }, (state) => { live.textContent = state; });
})();
