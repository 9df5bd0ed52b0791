"""Real link graphs, imported from files: the counts are the published ones."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

import weft as package
from support.link_graphs import hollins, polblogs, write_pages
from support.suites import suite_file
from support.weft_command import weft
from weft.model.url import UrlRules


@pytest.mark.parametrize("graph", [hollins, polblogs], ids=["hollins", "polblogs"])
def test_a_published_graph_gives_the_published_counts(tmp_path: Path, graph) -> None:
    expected = json.loads(suite_file("linkgraphs/expected_counts.json").read_text())
    facts = next(entry for entry in expected if entry["name"] == graph.__name__)
    labels, links = graph()
    write_pages(tmp_path / "pages.jsonl", (labels, links))
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
