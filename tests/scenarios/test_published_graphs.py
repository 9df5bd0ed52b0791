"""Real link graphs, imported from files: the counts are the published ones."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from hashlib import sha256
from pathlib import Path

import pytest

import weft as package
from support.suites import suite_file
from support.weft_command import weft
from weft.model.url import UrlRules

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


@pytest.mark.parametrize("graph", [hollins, polblogs], ids=["hollins", "polblogs"])
def test_a_published_graph_gives_the_published_counts(tmp_path: Path, graph) -> None:
    expected = json.loads(suite_file("linkgraphs/expected_counts.json").read_text())
    facts = next(entry for entry in expected if entry["name"] == graph.__name__)
    labels, links = graph()
    with (tmp_path / "pages.jsonl").open("w") as file:
        for url in labels:
            file.write(json.dumps({"url": url, "links": [{"url": target} for target in links.get(url, [])]}) + "\n")
    assert weft("import", "pages.jsonl", cwd=tmp_path).returncode == 0
    rules = UrlRules()
    names = {rules.identify(url).uri: label for url, label in labels.items()}
    counts = []
    with package.open(tmp_path / "weft-data") as index:
        answer = index.top(limit=1000)
        assert answer.total == facts["nodes"]
        while True:
            counts += [(item.references, names[item.uri]) for item in answer.items]
            if answer.next is None:
                break
            answer = index.top(limit=1000, cursor=answer.next)
    referenced = sorted((row for row in counts if row[0]), key=lambda row: (-row[0], row[1]))
    assert [list(row) for row in referenced[:10]] == facts["top10"]
    assert sum(count for count, _ in counts) == facts["sum_indegree"]
    listed = "\n".join(f"{count}\t{label}" for count, label in referenced)
    assert sha256(listed.encode()).hexdigest() == facts["indegree_list_sha256"]
    assert weft("verify", "--search", cwd=tmp_path).returncode == 0
