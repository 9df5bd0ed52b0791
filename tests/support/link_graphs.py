"""Link graphs, published and made up, as pages to import."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from pathlib import Path

from support.suites import suite_file

Graph = tuple[dict[str, str], dict[str, list[str]]]
"""Label of each URL, and the URLs that each URL links to."""


def hollins() -> Graph:
    lines = suite_file("linkgraphs/hollins.dat").read_text().split("\n")
    nodes, edges = map(int, lines[0].split()[:2])
    urls = [line.split()[1] for line in lines[1 : nodes + 1]]
    links = defaultdict(list)
    for line in lines[nodes + 1 : nodes + 1 + edges]:
        source, target = map(int, line.split())
        links[urls[source - 1]].append(urls[target - 1])
    return {url: url for url in urls}, links


def polblogs() -> Graph:
    """URLs are made from node numbers: two of the names would be one uri."""
    text = suite_file("linkgraphs/polblogs.gml").read_text()
    labels = {f"https://n{n}.example/": label for n, label in re.findall(r'id (\d+)\s+label "([^"]*)"', text)}
    links = defaultdict(list)
    for source, target in re.findall(r"source (\d+)\s+target (\d+)", text):
        links[f"https://n{source}.example/"].append(f"https://n{target}.example/")
    return labels, links


def random_graph(pages: int, seed: int = 1) -> Graph:
    """Ten links on every page, some pages more popular than others."""
    dice = random.Random(seed)
    urls = [f"https://site{number % 17}.com/{number}" for number in range(pages)]
    links = {url: [urls[int(pages * dice.random() ** 2)] for _ in range(10)] for url in urls}
    return {url: url for url in urls}, links


def write_pages(file: Path, graph: Graph) -> None:
    """A line for each page."""
    labels, links = graph
    with file.open("w") as lines:
        for url in labels:
            found = [{"url": target} for target in links.get(url, [])]
            lines.write(json.dumps({"url": url, "links": found}) + "\n")
